import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Kernel, type KernelConfig, openKernel, type Simulator } from '../kernel.ts'
import type { Event, EventKind } from '../wire/events.ts'

const root = join(import.meta.dirname, '../..')

/** Why boxes cannot be had on this machine, or null. */
export const boxMissing = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'].some((path) => existsSync(path))
  ? null
  : 'no bubblewrap (apt-get install bubblewrap)'

/** A decision of the simulated model: words, or tools that it calls. */
export interface Decision {
  text?: string
  toolCalls?: { name: string; arguments: Record<string, unknown> | string }[]
}

export function shell(command: string): Decision {
  return { toolCalls: [{ name: 'shell', arguments: { command } }] }
}

export function complete(summary = 'all done'): Decision {
  return { toolCalls: [{ name: 'complete', arguments: { summary } }] }
}

export interface TestPack {
  /** What sim-script does, in order. */
  script: Decision[]
  /** Of the world that counts; absent: a pack without a world. */
  goal?: number
  /** Lines of task.toml. */
  toml?: string
  /** Text of tests/test.sh; null: no grader. */
  grader?: string | null
  /** Files of environment/. */
  environment?: Record<string, string>
}

/** Gives the share of the goal, as the kernel measured it. */
const measuredGrader = `set -eu
sed 's/^{"measure":{"value":\\([0-9]*\\).*"goal":\\([0-9]*\\).*/\\1 \\2/' /tests/world.json | {
  read -r value goal || true
  awk -v v="$value" -v g="$goal" 'BEGIN { print v / g }' > /logs/verifier/reward.txt
}
`

/** Writes a pack that sim-script plays; returns its folder. */
export function writePack(dir: string, { script, goal, toml = '', grader, environment }: TestPack): string {
  mkdirSync(dir, { recursive: true })
  const world = goal === undefined ? '' : `[exodesk]\nworld = "world"\nobjective = "${goal}"\n`
  const measure = goal === undefined ? '' : `[exodesk.goal]\nunit = "beans"\nvalue = ${goal}\n`
  writeFileSync(
    join(dir, 'task.toml'),
    `schema_version = "1.4"\n[task]\nname = "test/beans"\n${toml}\n${world}${measure}`,
  )
  const fence = '```'
  writeFileSync(join(dir, 'instruction.md'), `Count.\n\n${fence}script\n${JSON.stringify(script)}\n${fence}\n`)
  if (goal !== undefined) cpSync(join(import.meta.dirname, 'fixtures/counter'), join(dir, 'world'), { recursive: true })
  const tests = grader === undefined && goal !== undefined ? measuredGrader : grader
  if (typeof tests === 'string') {
    mkdirSync(join(dir, 'tests'), { recursive: true })
    writeFileSync(join(dir, 'tests/test.sh'), tests)
  }
  for (const [name, text] of Object.entries(environment ?? {})) {
    mkdirSync(join(dir, 'environment'), { recursive: true })
    writeFileSync(join(dir, 'environment', name), text)
  }
  return dir
}

const names = ['sim-script', 'sim-novice', 'sim-apprentice', 'sim-reviewer']

/** The simulator, as a process that ends with its stdin. @param args as its `main.ts` takes them. */
export function startSimulator(...args: string[]): Simulator & { stop(): void } {
  let child: ChildProcess | null = null
  let serving: Promise<{ origin: string }> | null = null
  const start = () =>
    new Promise<{ origin: string }>((resolve, reject) => {
      const started = spawn(process.execPath, [join(root, 'simulator/main.ts'), ...args], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      child = started
      started.once('exit', (code) => reject(new Error(`the simulator ended (${code})`)))
      createInterface(started.stdout).once('line', (line) => resolve({ origin: new URL(JSON.parse(line).url).origin }))
    })
  return {
    models: names.map((name) => ({ name, description: 'a test' })),
    start() {
      serving ??= start()
      return serving
    },
    stop: () => child?.stdin?.end(),
  }
}

export function testConfig(dataDir: string, simulator: Simulator): KernelConfig {
  const packsRoot = join(dataDir, 'packs')
  mkdirSync(packsRoot, { recursive: true })
  const compiler = `node_modules/@typescript/typescript-${process.platform}-${process.arch}`
  return {
    dataDir,
    host: 'test',
    version: 'test',
    env: {},
    simulator,
    resources: {
      node: process.execPath,
      checker: [
        { host: join(root, compiler), at: '/exodesk/checker/typescript' },
        {
          host: join(root, 'node_modules/@types/node'),
          at: '/exodesk/checker/node_modules/@types/node',
        },
        { host: join(root, 'node_modules/undici-types'), at: '/exodesk/checker/node_modules/undici-types' },
        { host: join(root, 'kernel/guardian/checks/facts'), at: '/exodesk/checker/facts' },
        { host: join(root, 'node_modules/oxc-parser'), at: '/exodesk/checker/node_modules/oxc-parser' },
        { host: join(root, 'node_modules/@oxc-parser'), at: '/exodesk/checker/node_modules/@oxc-parser' },
      ],
      seed: join(root, 'executor-seed'),
      wire: join(root, 'kernel/wire/executor.ts'),
      commandServer: join(root, 'kernel/sandbox/standing/server.ts'),
      packsRoot,
      packs: packsRoot,
    },
  }
}

export interface TestKernel {
  kernel: Kernel
  dataDir: string
  /** Writes a pack into the packs folder; its name is what `run` is given. */
  pack(name: string, pack: TestPack): string
  events(kinds?: readonly EventKind[], task?: string): Promise<Event[]>
  /** Resolves with the first event, from the beginning of history on, for which it holds. */
  until(holds: (event: Event) => boolean): Promise<Event>
  /** Closes and opens it again on the same directory. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** The kernel itself, on a directory of its own that `close` removes. */
export async function openTestKernel(
  simulator: Simulator,
  overrides: Partial<KernelConfig> & { dataDir?: string } = {},
): Promise<TestKernel> {
  const dataDir = overrides.dataDir ?? mkdtempSync(join(tmpdir(), 'exodesk-kernel-'))
  const open = () => openKernel({ ...testConfig(dataDir, simulator), ...overrides, dataDir })
  const test: TestKernel = {
    kernel: await open(),
    dataDir,
    pack(name, pack) {
      writePack(join(dataDir, 'packs', name), pack)
      return name
    },
    async events(kinds, task) {
      const found: Event[] = []
      for (let after: number | null = 0; after !== null; ) {
        const page: { events: Event[]; next: number | null } = await test.kernel.history.read(
          { agent: null },
          { after, limit: 1000, ...(kinds === undefined ? {} : { kinds }), ...(task === undefined ? {} : { task }) },
        )
        found.push(...page.events)
        after = page.next
      }
      return found
    },
    async until(holds) {
      const stop = new AbortController()
      for await (const batch of test.kernel.history.follow({ agent: null }, { after: 0, signal: stop.signal })) {
        const found = batch.find(holds)
        if (found === undefined) continue
        stop.abort()
        return found
      }
      throw new Error('history ended before')
    },
    async restart() {
      await test.kernel.close()
      test.kernel = await open()
    },
    async close() {
      await test.kernel.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return test
}
