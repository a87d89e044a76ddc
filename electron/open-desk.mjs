// What `npm start` does once Node is known to be new enough.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { become, buildIfStale } from './launch.mjs'
import { ensureInstalled, ensureSandboxTool, localNode, root } from './setup.mjs'

const downloadTimeoutMs = 10 * 60_000

ensureInstalled()
const fix = ensureSandboxTool()
if (fix) console.error(`Local sandboxes need bubblewrap. Run: ${fix}`)
buildIfStale()

const desktop = findDesktop()
if (desktop.executable) {
  const isRoot = process.platform === 'linux' && process.getuid() === 0
  if (isRoot) console.error("Running as root: Chromium's own sandbox is off for this window.")
  become(desktop.executable, [
    ...(isRoot ? ['--no-sandbox'] : []),
    join(root, 'dist', 'main.cjs'),
    ...process.argv.slice(2),
  ])
} else {
  console.error(`No desktop window: ${desktop.why}. The same desk is served on loopback.`)
  become(localNode, [join(root, 'dist', 'headless.cjs'), ...process.argv.slice(2)])
}

function findDesktop() {
  const hasDisplay = process.platform !== 'linux' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY
  if (!hasDisplay) return { why: 'there is no display (DISPLAY and WAYLAND_DISPLAY are unset)' }
  const override = process.env.ELECTRON_OVERRIDE_DIST_PATH
  const executable = electronExecutable(override)
  if (executable) return { executable }
  if (override) return { why: `ELECTRON_OVERRIDE_DIST_PATH (${override}) holds no Electron` }
  console.error("Fetching Electron's binary, once, about 120 MB …")
  const install = join(root, 'node_modules', 'electron', 'install.js')
  const { status, error, stderr } = spawnSync(localNode, [install], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: downloadTimeoutMs,
  })
  const fetched = status === 0 ? electronExecutable(undefined) : null
  if (fetched) return { executable: fetched }
  const reason = error?.message ?? stderr.split('\n').find((line) => line.trim() !== '') ?? `exit code ${status}`
  return { why: `Electron's binary cannot be fetched (${reason.trim()})` }
}

function electronExecutable(override) {
  const folder = join(root, 'node_modules', 'electron')
  const platformPath = {
    darwin: 'Electron.app/Contents/MacOS/Electron',
    win32: 'electron.exe',
  }
  const name = existsSync(join(folder, 'path.txt'))
    ? readFileSync(join(folder, 'path.txt'), 'utf8')
    : (platformPath[process.platform] ?? 'electron')
  const executable = join(override ?? join(folder, 'dist'), name)
  return existsSync(executable) ? executable : null
}
