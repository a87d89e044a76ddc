// The command line as built, driven as a script would.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')
const cli = join(root, 'dist', 'cli.cjs')

/** Why tasks cannot run on this machine, or null. */
export const boxMissing = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'].some((path) => existsSync(path))
  ? null
  : 'no bubblewrap (apt-get install bubblewrap)'
if (boxMissing) console.warn(`skipped: ${boxMissing}`)

export interface Finished {
  code: number | null
  /** Each line of stdout as JSON. */
  lines: Record<string, never>[]
  stderr: string
}

const dirs: string[] = []

export function dataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'exodesk-e2e-'))
  dirs.push(dir)
  return dir
}

export function removeDataDirs(): void {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
}

export function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [cli, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a command with --json to its end. */
export async function exodesk(data: string, args: string[], env: Record<string, string> = {}): Promise<Finished> {
  const child = start([...args, '--data', data, '--json'], env)
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', (exit) => resolve(exit)))
  const lines = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  return { code, lines, stderr }
}

/** As `exodesk`, for a command that must succeed and prints one object last. */
export async function result<T>(data: string, args: string[]): Promise<T> {
  const { code, lines, stderr } = await exodesk(data, args)
  const last = lines.at(-1)
  if (code !== 0 || last === undefined)
    throw new Error(`exodesk ${args.join(' ')} exited with ${code}: ${stderr.slice(-2000)}`)
  return last as T
}

export interface HistoryEvent {
  seq: number
  kind: string
  agent: string | null
  task: string | null
  data: Record<string, unknown>
}

/** Every event of these kinds, in order. */
export async function events(data: string, kinds: string[]): Promise<HistoryEvent[]> {
  const found: HistoryEvent[] = []
  for (;;) {
    const after = String(found.at(-1)?.seq ?? 0)
    const { lines } = await exodesk(data, [
      'history',
      '--after',
      after,
      '--limit',
      '1000',
      ...kinds.flatMap((kind) => ['--kind', kind]),
    ])
    found.push(...(lines as unknown as HistoryEvent[]))
    if (lines.length < 1000) return found
  }
}
