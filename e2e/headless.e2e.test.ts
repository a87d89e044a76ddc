// The desk without Electron: its one-time link, a second start, and a machine that has no sandbox.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, openScreen, patience } from './desk.ts'
import { dataDir, removeDataDirs, root } from './exodesk.ts'
import { chromiumMissing, type Headless, launchChromium, runHeadless, startHeadless } from './headless.ts'
import { look } from './look.ts'

const emptyScreens = {
  Live: 'No task yet',
  Review: 'Nothing to decide',
  Revisions: 'No agent yet',
} as const

describe.skipIf(chromiumMissing())('the desk on loopback', { timeout: patience }, () => {
  let data: string
  let host: Headless
  let browser: Browser
  beforeAll(async () => {
    data = dataDir()
    host = await startHeadless(data)
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await host?.stop()
    removeDataDirs()
  })

  /** A person who was not here before. */
  const stranger = async (): Promise<Page> =>
    (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  const opens = async (page: Page, url: string) => {
    await page.goto(url)
    await byTest(page, 'start-demo').waitFor()
  }

  it('opens by its link, once, and stays open for who opened it', async () => {
    const first = await stranger()
    await opens(first, host.url)
    expect(first.url()).not.toContain('token')
    await first.reload()
    await byTest(first, 'start-demo').waitFor()

    const second = await stranger()
    const answer = await second.goto(host.url)
    expect(answer?.status()).toBe(401)
    expect(await second.locator('body').textContent()).toMatch(/link was used already.*Run "npm start"/s)
    await second.goto(new URL('/', host.url).href)
    expect(await second.locator('body').textContent()).toContain('Run "npm start"')
  })

  it('a second start says that it runs, and gives a fresh link that opens', async () => {
    const { code, stdout, stderr } = await runHeadless(data)
    expect(code).toBe(0)
    expect(stderr).toContain(`Exodesk runs on ${data} already`)
    expect(stdout.trim()).not.toBe(host.url)
    await opens(await stranger(), stdout.trim())
  })

  it('says on every screen what there is to do while nothing has happened', async () => {
    const page = await stranger()
    await opens(page, (await runHeadless(data)).stdout.trim())
    const faults: string[] = []
    for (const [name, words] of Object.entries(emptyScreens)) {
      await openScreen(page, name as keyof typeof emptyScreens)
      await page.getByText(words).waitFor()
      faults.push(...(await look(page, `empty-${name.toLowerCase()}`)))
    }
    await page.keyboard.press('Control+1')
    await page.keyboard.press('Control+n')
    await page.getByRole('dialog').waitFor()
    faults.push(...(await look(page, 'new-task')))
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    faults.push(...(await look(page, 'keys')))
    expect(faults).toEqual([])
  })
})

describe.skipIf(chromiumMissing())('a machine without a sandbox', { timeout: patience }, () => {
  let host: Headless
  let browser: Browser
  afterAll(async () => {
    await browser?.close()
    await host?.stop()
    removeDataDirs()
  })

  it('opens the desk all the same, and Home gives the one command that mends it', async () => {
    host = await startHeadless(dataDir(), { PATH: root })
    browser = await launchChromium()
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.goto(host.url)
    const banner = byTest(page, 'sandbox-banner')
    await banner.waitFor()
    expect(await banner.textContent()).toMatch(/No sandbox bubblewrap is not installedRun/)
    expect(await banner.locator('code').allTextContents()).toEqual(['sudo apt-get install -y bubblewrap'])
    await byTest(page, 'start-demo').and(page.locator(':disabled')).waitFor()
    expect(await byTest(page, 'status-strip').textContent()).toContain('no sandbox')
    expect(await look(page, 'home-no-sandbox')).toEqual([])
    await openScreen(page, 'History')
    await byTest(page, 'history-row').first().waitFor()
  })
})
