// The two hosts in which a person meets the desk, each started as built: headless in a browser, and Electron.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { _electron, chromium, type Page } from 'playwright-core'

const root = join(import.meta.dirname, '..')
const chromiumPath = process.env.EXODESK_CHROMIUM ?? '/usr/bin/chromium'
const electronFolder = process.env.ELECTRON_OVERRIDE_DIST_PATH

export interface OpenDesk {
  page: Page
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
  { name: 'chromium', missing: chromiumMissing(), open: openInChromium },
  { name: 'electron', missing: electronMissing(), open: openInElectron },
]
for (const { name, missing } of hosts) if (missing) console.warn(`skipped in ${name}: ${missing}`)

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(join(root, 'test-output'), { recursive: true })
  await page.screenshot({ path: join(root, 'test-output', `${name}.png`) })
}

async function openInChromium(): Promise<OpenDesk> {
  const data = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))
  const headless = spawn(process.execPath, [join(root, 'dist', 'headless.cjs'), '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(headless.stdout).once('line', resolve)
    headless.once('exit', (code) => reject(new Error(`headless exited with ${code}`)))
  })
  const isRoot = process.getuid?.() === 0
  const args = ['--disable-background-networking', ...(isRoot ? ['--no-sandbox'] : [])]
  const browser = await chromium.launch({ executablePath: chromiumPath, args })
  const page = await browser.newPage()
  const complaints = collectComplaints(page)
  await page.goto(url)
  const close = async () => {
    await browser.close()
    const exited = once(headless, 'exit')
    headless.kill()
    await exited
    rmSync(data, { recursive: true, force: true })
  }
  return { page, complaints, close }
}

async function openInElectron(): Promise<OpenDesk> {
  const data = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))
  const args = ['--no-sandbox', '--disable-gpu', join(root, 'dist-smoke', 'main.cjs'), '--data', data]
  const app = await _electron.launch({ executablePath: join(electronFolder ?? '', 'electron'), args })
  const page = await app.firstWindow()
  const complaints = collectComplaints(page)
  await page.waitForLoadState()
  const close = async () => {
    await app.close()
    rmSync(data, { recursive: true, force: true })
  }
  return { page, complaints, close }
}

function collectComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return complaints
}

function chromiumMissing(): string | null {
  if (!existsSync(chromiumPath))
    return `no Chromium at ${chromiumPath} (apt-get install chromium, or set EXODESK_CHROMIUM)`
  return existsSync(join(root, 'dist', 'headless.cjs')) ? null : 'dist/ is not built (npm run build)'
}

function electronMissing(): string | null {
  if (!electronFolder) return 'ELECTRON_OVERRIDE_DIST_PATH names no smoke Electron'
  if (!existsSync(join(electronFolder, 'electron'))) return `${electronFolder} holds no Electron`
  if (!existsSync(join(root, 'dist-smoke', 'main.cjs'))) return 'dist-smoke/ is not built (npm run build:smoke)'
  return process.env.DISPLAY ? null : 'there is no display (run under xvfb-run)'
}
