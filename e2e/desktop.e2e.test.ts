// What the desktop app does outside of its page: menu, notes, links, a page that crashes, and the end of it all.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ElectronApplication, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decisions, patience, startDemo } from './desk.ts'
import { boxMissing } from './exodesk.ts'
import { electronCommand, hosts, launchElectron, quit } from './hosts.ts'

const missing = hosts.find(({ name }) => name === 'electron')?.missing

describe.skipIf(boxMissing ?? missing)('the desktop', { timeout: patience * 2 }, () => {
  let data: string
  let app: ElectronApplication
  let page: Page
  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))
    app = await launchElectron(data)
    page = await app.firstWindow()
    page.setDefaultTimeout(patience)
    // What the system would show, and what a person would answer.
    await app.evaluate(({ Notification, dialog }) => {
      const seen = { notes: [] as string[], questions: [] as string[], answer: 2 }
      Object.assign(globalThis, { seen })
      Notification.prototype.show = function () {
        seen.notes.push(`${this.title} ${this.body}`)
        setImmediate(() => this.emit('shown'))
      }
      dialog.showMessageBox = (async (...args: unknown[]) => {
        seen.questions.push((args.at(-1) as { message: string }).message)
        return { response: seen.answer, checkboxChecked: false }
      }) as never
    })
  })
  afterAll(async () => {
    if (app !== undefined) await quit(app).catch(() => undefined)
    rmSync(data, { recursive: true, force: true })
  })

  const seen = () => app.evaluate(() => (globalThis as never as { seen: Record<'notes' | 'questions', string[]> }).seen)
  const answer = (response: number) =>
    app.evaluate(
      (_, response) => Object.assign((globalThis as never as { seen: object }).seen, { answer: response }),
      response,
    )
  const isVisible = () =>
    app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().some((one) => one.isVisible()))
  const pressMenu = (label: string) =>
    app.evaluate(({ Menu, BrowserWindow }, label) => {
      const items = Menu.getApplicationMenu()?.items.flatMap((item) => item.submenu?.items ?? []) ?? []
      const item = items.find((item) => item.label === label)
      if (item === undefined) throw new Error(`no ${label} among ${items.map((item) => item.label)}`)
      item.click(undefined, BrowserWindow.getAllWindows()[0])
    }, label)

  it('has a menu with the ways through the desk, and the roles without which copy and paste fail', async () => {
    await pressMenu('History')
    await page.waitForURL(/#\/history$/)
    await pressMenu('Home')
    await page.waitForURL(/#\/home$/)
    const roles = await app.evaluate(({ Menu }) =>
      Menu.getApplicationMenu()?.items.flatMap(
        (item) => item.submenu?.items.map(({ role }) => role?.toLowerCase()) ?? [],
      ),
    )
    expect(roles).toEqual(expect.arrayContaining(['undo', 'cut', 'copy', 'paste', 'selectall', 'quit', 'zoomin']))
  })

  it('follows a link from outside in the window that is open, and does nothing else with it', async () => {
    const [path, args] = electronCommand(data)
    await promisify(execFile)(path, [...args, 'exodesk://event/1'])
    await page.waitForURL(/#\/history\/1$/)
    await promisify(execFile)(path, [...args, 'exodesk://approve/scout/P-1'])
    expect(page.url()).toMatch(/#\/history\/1$/)
    expect(app.windows()).toHaveLength(1)
  })

  it('tells of a decision while nobody looks, keeps the computer awake, and asks before it quits', async () => {
    await pressMenu('Home')
    await startDemo(page)
    await app.evaluate(({ BrowserWindow }) => {
      const [window] = BrowserWindow.getAllWindows()
      window?.blur()
      if (window !== undefined) window.isFocused = () => false
    })
    await expect.poll(async () => (await seen()).notes, { timeout: patience }).toHaveLength(1)
    expect((await seen()).notes[0]).toMatch(
      /^P-1 of .+ is ready for your verdict Risk: (LOW|MED|HIGH)\. Its checks are done\.$/,
    )
    await decisions(page, 1)
    expect(await app.evaluate(({ powerSaveBlocker }) => [0, 1, 2].some((id) => powerSaveBlocker.isStarted(id)))).toBe(
      true,
    )
    await app.evaluate(({ app }) => app.quit())
    await expect.poll(async () => (await seen()).questions).toEqual(['A task runs.'])
    expect(await isVisible()).toBe(true)
  })

  it('goes on without a window, and comes back at a second start', async () => {
    await answer(0)
    await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
    await expect.poll(isVisible).toBe(false)
    const [path, args] = electronCommand(data)
    await promisify(execFile)(path, args)
    await expect.poll(isVisible).toBe(true)
  })

  it('opens a page again that has crashed, while the task runs on', async () => {
    const crashed = page.waitForEvent('crash')
    await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.webContents.forcefullyCrashRenderer())
    await crashed
    const text = () =>
      app.evaluate(({ BrowserWindow }) =>
        BrowserWindow.getAllWindows()[0]
          ?.webContents.executeJavaScript('document.querySelector(".rail-count")?.textContent ?? ""')
          .catch(() => ''),
      )
    await expect.poll(text, { timeout: patience }).toMatch(/^1/)
    expect((await seen()).questions).toEqual(['A task runs.', 'A task runs.'])
  })

  it('opens where it was', async () => {
    await app.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows()[0]?.setBounds({ x: 30, y: 40, width: 1100, height: 700 }),
    )
    await answer(1)
    const ended = app.waitForEvent('close')
    await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
    await ended
    expect(JSON.parse(readFileSync(join(data, 'window', 'place.json'), 'utf8'))).toMatchObject({
      bounds: { width: 1100, height: 700 },
      maximized: false,
    })
    app = await launchElectron(data)
    await app.firstWindow()
    const bounds = await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds())
    expect(bounds).toMatchObject({ width: 1100, height: 700 })
  })
})
