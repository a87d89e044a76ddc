import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { KernelError } from '../errors.ts'
import type { CgroupPowers } from './cgroups.ts'
import { etcFiles, type Machine } from './command.ts'
import type { LocalConfig } from './local.ts'
import { seccompProgram } from './seccomp.ts'

/** What a box needs from this machine, looked up once. */
export interface Host {
  machine: Machine
  bash: string
  bwrap: string
  seccompFile: string | null
  /** `bubblewrap 0.8.0, as root`. */
  detail: string
  /** What does not hold here and would elsewhere; for the report. */
  weaknesses: string[]
}

/** @throws KernelError `unavailable` with `details.fix` where something is missing. */
export async function prepareHost(config: LocalConfig, boxesDir: string, powers: CgroupPowers): Promise<Host> {
  if (process.platform !== 'linux') throw missing('local boxes need Linux', undefined)
  const bwrap = findProgram('bwrap', config.bwrapPath)
  if (bwrap === null) throw missing('bubblewrap is not installed', 'sudo apt-get install -y bubblewrap')
  const bash = findProgram('bash', '/bin/bash')
  if (bash === null) throw missing('/bin/bash is not installed', 'sudo apt-get install -y bash')
  const asRoot = process.getuid?.() === 0
  for (const tool of ['prlimit', 'env', ...(asRoot ? ['setpriv'] : [])]) {
    if (!existsSync(`/usr/bin/${tool}`)) {
      throw missing(`/usr/bin/${tool} is not installed`, 'sudo apt-get install -y util-linux coreutils')
    }
  }
  if (!existsSync(config.nodePath)) throw missing(`the Node binary for boxes is missing: ${config.nodePath}`, 'npm ci')
  const version = await bwrapVersion(bwrap)
  if (isOlder(version, [0, 8])) {
    throw missing(`bubblewrap ${version.join('.')} is too old (0.8.0 is needed)`, 'sudo apt-get install -y bubblewrap')
  }
  const systemDir = join(boxesDir, '.system')
  await mkdir(systemDir, { recursive: true, mode: 0o755 })
  await chmod(systemDir, 0o755)
  for (const [name, text] of Object.entries(etcFiles)) await writeReadable(join(systemDir, name), text)
  const filter = seccompProgram()
  const seccompFile = filter === null ? null : join(systemDir, 'seccomp.bpf')
  if (filter !== null && seccompFile !== null) await writeReadable(seccompFile, filter)
  return {
    machine: {
      asRoot,
      systemFolders: systemFolders(),
      etcDir: systemDir,
      nodePath: config.nodePath,
      checkerMounts: config.checkerMounts,
      hasSeccomp: filter !== null,
      rlimit: { memory: !powers.memory, pids: !powers.pids },
    },
    bash,
    bwrap,
    seccompFile,
    detail: `bubblewrap ${version.join('.')}, ${asRoot ? 'as root' : 'as an ordinary user'}`,
    weaknesses: filter === null ? [`no system-call filter on ${process.arch}`] : [],
  }
}

/** The one setting that most often keeps an ordinary user from having a box, and how to change it; undefined where none is found. */
export function namespaceFix(read = setting, isOrdinary = isOrdinaryUser()): string | undefined {
  if (!isOrdinary) return undefined
  if (read('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
  }
  if (read('kernel/unprivileged_userns_clone') === '0') return 'sudo sysctl -w kernel.unprivileged_userns_clone=1'
  if (read('user/max_user_namespaces') === '0') return 'sudo sysctl -w user.max_user_namespaces=15000'
  return undefined
}

const isOrdinaryUser = () => process.platform === 'linux' && process.getuid?.() !== 0

/** Of the running Linux; empty where it has none of that name. */
function setting(name: string): string {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim()
  } catch {
    return ''
  }
}

function findProgram(name: string, fixed: string | undefined): string | null {
  const candidates =
    fixed !== undefined
      ? [fixed]
      : (process.env.PATH ?? '')
          .split(':')
          .filter(isAbsolute)
          .map((folder) => join(folder, name))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function bwrapVersion(bwrap: string): Promise<number[]> {
  try {
    const { stdout } = await promisify(execFile)(bwrap, ['--version'], { env: {}, timeout: 10_000 })
    const numbers = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(stdout)
    if (numbers !== null) return numbers.slice(1).map((text) => Number(text ?? 0))
  } catch (error) {
    throw missing(`bubblewrap does not run: ${(error as Error).message}`, 'sudo apt-get install -y bubblewrap')
  }
  throw missing('bubblewrap does not say its version', 'sudo apt-get install -y bubblewrap')
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const index = than.findIndex((number, at) => (version[at] ?? 0) !== number)
  return index >= 0 && (version[index] ?? 0) < (than[index] ?? 0)
}

function systemFolders(): Machine['systemFolders'] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((at) => {
    const stats = lstatSync(at, { throwIfNoEntry: false })
    if (stats === undefined) return []
    return [{ at, link: stats.isSymbolicLink() ? readlinkSync(at) : null }]
  })
}

async function writeReadable(path: string, content: string | Buffer): Promise<void> {
  await writeFile(path, content, { mode: 0o644 })
  await chmod(path, 0o644)
}

function missing(what: string, fix: string | undefined): KernelError {
  return new KernelError('unavailable', fix === undefined ? what : `${what}. To mend it: ${fix}`, {
    details: fix === undefined ? {} : { reason: what, fix },
  })
}
