// Brings a clone to the state in which everything else runs. Plain JavaScript without dependencies: it runs before
// `npm ci` did, under whatever Node (20.18 or later) the machine has.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the clone. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** The pinned Node that runs builds, tests and the headless host. Exists once `ensureInstalled` returned. */
export const localNode = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

export const sandboxFix = 'sudo apt-get install -y bubblewrap'

/** Runs `npm ci` when node_modules is missing or differs from the lock. All output goes to stderr. */
export function ensureInstalled() {
  if (isInstalled()) return
  console.error('Installing packages (npm ci), about a minute …')
  const npm = process.env.npm_execpath
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: root, stdio: ['ignore', 2, 2] }
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
  if (result.status !== 0) {
    console.error(`npm ci failed (${result.error?.message ?? `exit code ${result.status}`}). Nothing runs without it.`)
    process.exit(3)
  }
}

/**
 * Installs bubblewrap where that needs nobody's password.
 *
 * @returns the command that the operator has to run, or null when there is nothing to do
 */
export function ensureSandboxTool() {
  if (process.platform !== 'linux' || isOnPath('bwrap')) return null
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    console.error('Installing bubblewrap (apt-get) …')
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const install = () =>
      spawnSync('apt-get', ['install', '-y', '-qq', 'bubblewrap'], { env, stdio: ['ignore', 'ignore', 'ignore'] })
    if (install().status !== 0) {
      spawnSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'ignore'] })
      install()
    }
  }
  return isOnPath('bwrap') ? null : sandboxFix
}

function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installed) || !existsSync(localNode)) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(installed, 'utf8')).packages
  // Packages for other platforms are in the lock and never on the disk.
  return Object.entries(wanted).every(
    ([path, entry]) => path === '' || entry.optional || present[path]?.version === entry.version,
  )
}

function isOnPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureInstalled()
  const fix = ensureSandboxTool()
  if (fix) console.error(`Local sandboxes need bubblewrap: ${fix}`)
}
