// The two hosts in which a person meets the desk, each started as built: headless in a browser, and Electron.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { _electron, type ElectronApplication, type Page } from 'playwright-core'
import { root } from './exodesk.ts'
import { chromiumMissing, launchChromium, startHeadless } from './headless.ts'

const electronFolder = process.env.ELECTRON_OVERRIDE_DIST_PATH

export interface OpenDesk {
  page: Page
  /** Its data directory, where the command line finds it too. */
  data: string
  /** Uncaught errors and console errors of the page, oldest first. */
  complaints: string[]
  close(): Promise<void>
}

export interface Host {
  name: 'chromium' | 'electron'
  /** Why this host cannot run here, or null. */
  missing: string | null
  open(): Promise<OpenDesk>
}

export const hosts: Host[] = [
  { name: 'chromium', missing: chromiumMissing(), open: () => openInChromium() },
  { name: 'electron', missing: electronMissing(), open: openInElectron },
]
for (const { name, missing } of hosts) if (missing) console.warn(`skipped in ${name}: ${missing}`)

export async function openInChromium(data = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))): Promise<OpenDesk> {
  const headless = await startHeadless(data)
  const browser = await launchChromium()
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const complaints = collectComplaints(page)
  await page.goto(headless.url)
  const close = async () => {
    await browser.close()
    await headless.stop()
    rmSync(data, { recursive: true, force: true })
  }
  return { page, data, complaints, close }
}

async function openInElectron(): Promise<OpenDesk> {
  const data = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))
  const app = await launchElectron(data)
  const page = await app.firstWindow()
  const complaints = collectComplaints(page)
  await page.waitForLoadState()
  const close = async () => {
    await quit(app)
    rmSync(data, { recursive: true, force: true })
  }
  return { page, data, complaints, close }
}

/** What starts the desktop app on a data directory. */
export function electronCommand(data: string): [path: string, args: string[]] {
  const args = ['--no-sandbox', '--disable-gpu', join(root, 'dist-smoke', 'main.cjs'), '--data', data]
  return [join(electronFolder ?? '', 'electron'), args]
}

export function launchElectron(data: string): Promise<ElectronApplication> {
  const [executablePath, args] = electronCommand(data)
  return _electron.launch({ executablePath, args })
}

/** The app as an installer lays it out, around the smoke Electron, in `folder`. */
export async function launchPackaged(folder: string, data: string): Promise<ElectronApplication> {
  await promisify(execFile)(process.execPath, [join(root, 'electron/package-smoke.mjs'), folder], { cwd: root })
  const executablePath = join(folder, 'linux-unpacked', 'exodesk')
  return _electron.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--data', data] })
}

/** As a person quits who, asked because tasks run, says so. */
export async function quit(app: ElectronApplication): Promise<void> {
  await app.evaluate(({ dialog }) => {
    dialog.showMessageBox = async () => ({ response: 1, checkboxChecked: false })
  })
  await app.close()
}

export function collectComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return complaints
}

function electronMissing(): string | null {
  if (!electronFolder) return 'ELECTRON_OVERRIDE_DIST_PATH names no smoke Electron'
  if (!existsSync(join(electronFolder, 'electron'))) return `${electronFolder} holds no Electron`
  if (!existsSync(join(root, 'dist-smoke', 'main.cjs'))) return 'dist-smoke/ is not built (npm run build:smoke)'
  return process.env.DISPLAY ? null : 'there is no display (run under xvfb-run)'
}
