// What an installer installs: bundles in an archive, and beside it all that boxes mount. Driven to a first verdict.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ElectronApplication, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decisions, openProposal, patience, startDemo } from './desk.ts'
import { boxMissing } from './exodesk.ts'
import { collectComplaints, hosts, launchPackaged, quit } from './hosts.ts'
import { screenshot } from './look.ts'

const missing = hosts.find(({ name }) => name === 'electron')?.missing

describe.skipIf(boxMissing ?? missing)('the packaged app', { timeout: patience * 2 }, () => {
  let folder: string
  let app: ElectronApplication
  let page: Page
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'exodesk-packaged-'))
    app = await launchPackaged(folder, join(folder, 'data'))
    page = await app.firstWindow()
    page.setDefaultTimeout(patience)
  }, patience)
  afterAll(async () => {
    if (app !== undefined) await quit(app).catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })

  it('runs from its archive, and needs nothing of a clone', async () => {
    const facts = await app.evaluate(({ app }) => ({ isPackaged: app.isPackaged, path: app.getAppPath() }))
    expect(facts).toEqual({ isPackaged: true, path: join(folder, 'linux-unpacked', 'resources', 'app.asar') })
  })

  it('runs the bundled task in its boxes, up to a proposal that all checks have read', async () => {
    const complaints = collectComplaints(page)
    await startDemo(page)
    await decisions(page, 1)
    await openProposal(page, 'P-1')
    await screenshot(page, 'packaged-review')
    expect(complaints).toEqual([])
  })
})
