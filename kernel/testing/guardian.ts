import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createArtifacts } from '../artifacts/store.ts'
import { type Clock, systemClock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type {
  BootReport,
  Executors,
  Generation,
  GenerationEnd,
  GenerationSpec,
  TaskContext,
  TaskSandbox,
} from '../executor/executor.ts'
import { boot } from '../guardian/checks/boot.ts'
import { scope } from '../guardian/checks/scope.ts'
import type { ActivationTarget, Guardian } from '../guardian/guardian.ts'
import { createGuardian, type GuardianParts } from '../guardian/mechanism.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { History } from '../history/history.ts'
import type { Revisions } from '../revisions/revisions.ts'
import { createRevisions } from '../revisions/tree.ts'
import { intakePolicy, layPolicy } from '../sandbox/intake.ts'
import { localProvider } from '../sandbox/local.ts'
import type { SandboxProvider, TreeFile } from '../sandbox/sandbox.ts'
import { draft, type Event, type EventKind } from '../wire/events.ts'
import { testModel } from './executors.ts'

const root = join(import.meta.dirname, '../..')
export const agent = 'apprentice'

/** A policy in one file; what its text says decides what the stand-in executors do with it. */
export function policy(text: string, more: Record<string, string> = {}): TreeFile[] {
  const files = { 'main.ts': `// ${text}\n`, ...more }
  return Object.entries(files).map(([path, text]) => ({ path, text }))
}

export interface TestGuardian {
  guardian: Guardian
  history: History
  revisions: Revisions
  provider: SandboxProvider
  executors: StandInExecutors
  open: TestHistory
  boxesDir: string
  /** Submits, waits for the checks, and gives the id. */
  propose(text: string, more?: Record<string, string>): Promise<string>
  approve(proposal: string): ReturnType<Guardian['approve']>
  reject(proposal: string, reason?: string): ReturnType<Guardian['reject']>
  /** A completed model call of the active revision. */
  step(task?: string): Promise<void>
  events(kinds?: readonly EventKind[]): Promise<Event[]>
  kinds(): Promise<string[]>
  /** Closes guardian and history and opens both again, as a restart does. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** The guardian over a real history, real revisions and (where it uses them) real boxes; executors are a stand-in unless given. */
export async function openTestGuardian(
  options: Partial<Omit<GuardianParts, 'history'>> & { clock?: Clock; createAgent?: boolean; dataDir?: string } = {},
): Promise<TestGuardian> {
  const open = await openTestHistory(options.dataDir === undefined ? {} : { dataDir: options.dataDir })
  const boxesDir = join(open.dataDir, 'boxes')
  mkdirSync(boxesDir, { recursive: true })
  const checkerMounts = [
    {
      host: join(root, `node_modules/@typescript/typescript-${process.platform}-${process.arch}`),
      at: '/exodesk/checker/typescript',
    },
    { host: join(root, 'node_modules/@types/node'), at: '/exodesk/checker/node_modules/@types/node' },
    { host: join(root, 'node_modules/undici-types'), at: '/exodesk/checker/node_modules/undici-types' },
    { host: join(root, 'kernel/guardian/checks/facts'), at: '/exodesk/checker/facts' },
    { host: join(root, 'node_modules/oxc-parser'), at: '/exodesk/checker/node_modules/oxc-parser' },
    { host: join(root, 'node_modules/@oxc-parser'), at: '/exodesk/checker/node_modules/@oxc-parser' },
  ]
  const clock = options.clock ?? systemClock
  const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts, clock })
  const wireSource = readFileSync(join(root, 'kernel/wire/executor.ts'), 'utf8')

  const test = { open, boxesDir, provider } as TestGuardian
  async function assemble(): Promise<void> {
    const { history } = open
    test.history = history
    test.revisions = createRevisions({ history, boxesDir, wireSource })
    test.executors = new StandInExecutors(history, test.revisions)
    test.guardian = await createGuardian({
      revisions: test.revisions,
      artifacts: createArtifacts({ history }),
      provider,
      clock,
      intake: { intakePolicy, layPolicy },
      checks: [scope, boot],
      probationSteps: 3,
      executors: () => test.executors,
      replays: { context: async () => null, tape: async () => null },
      ...options,
      history,
    })
  }
  await assemble()
  if (options.createAgent !== false) await test.guardian.createAgent(agent, policy('one'))

  test.propose = async (text, more) => {
    const { proposal } = await test.guardian.submit(agent, policy(text, more), `because ${text}`, `claims ${text}`)
    await test.guardian.settled(agent)
    return proposal
  }
  test.approve = async (proposal) => {
    const { nonce, binding } = await test.guardian.view(agent, proposal)
    return test.guardian.approve({ agent, proposal, nonce, binding, reason: '' })
  }
  test.reject = async (proposal, reason = 'no') => {
    const { nonce, binding } = await test.guardian.view(agent, proposal)
    return test.guardian.reject({ agent, proposal, nonce, binding, reason })
  }
  test.step = async (task = 'T-1') => {
    const active = await test.guardian.active(agent)
    await test.history.append([modelCalled(task, active?.revision ?? '')])
    await test.guardian.settled(agent)
  }
  test.events = async (kinds) => {
    const { events } = await test.history.read({ agent: null }, { limit: 1000, ...(kinds ? { kinds } : {}) })
    return events
  }
  test.kinds = async () => (await test.events()).filter((event) => event.agent === agent).map(({ kind }) => kind)
  test.restart = async () => {
    await test.guardian.close()
    await open.reopen()
    await assemble()
  }
  test.close = async () => {
    await test.guardian.close()
    await provider.close()
    await open.close()
  }
  return test
}

export function modelCalled(task: string, revision: string, status: 'completed' | 'failed' = 'completed') {
  return draft(
    'model.called',
    {
      request: 1,
      parent: null,
      keptItems: 0,
      items: 1,
      api: 'responses',
      model: testModel.name,
      simulated: true,
      status,
      attempts: 1,
      usage: null,
      usageSource: 'none',
      costNanoUsd: null,
      costReason: 'a test',
      priceVersion: null,
      durationMs: 1,
      firstByteMs: null,
      output: [],
      firstDifference: null,
      composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
      error: null,
    },
    { actor: 'kernel', agent, task, run: 'task', generation: 1, turn: 1, step: 1, revision },
  )
}

/**
 * Executors without processes. A policy that says `no-boot` fails its boot check, `no-box` finds no box for it,
 * `no-start` starts in the check but not for a task.
 */
export class StandInExecutors implements Executors {
  readonly booted: string[] = []
  readonly started: StandInGeneration[] = []
  /** Set to hold up every boot until it resolves. */
  gate: Promise<void> = Promise.resolve()
  readonly #history: History
  readonly #revisions: Revisions

  constructor(history: History, revisions: Revisions) {
    this.#history = history
    this.#revisions = revisions
  }

  async start(spec: GenerationSpec): Promise<Generation> {
    const { events } = await this.#history.read(
      { agent: spec.agent },
      { kinds: ['revision.authorised'], limit: 1000, order: 'desc' },
    )
    const isAuthorised = events.some(
      (event) => event.kind === 'revision.authorised' && event.data.revision === spec.revision,
    )
    if (!isAuthorised) throw new KernelError('forbidden', `${spec.revision} was never authorised`)
    if ((await this.#says(spec.revision)).includes('no-start'))
      throw new KernelError('unavailable', 'it did not answer', { details: { stage: 'handshake' } })
    const generation = new StandInGeneration(spec, this.started.length + 1)
    this.started.push(generation)
    return generation
  }

  async boot(revision: string): Promise<BootReport> {
    await this.gate
    this.booted.push(revision)
    const text = await this.#says(revision)
    if (text.includes('no-box')) throw new KernelError('unavailable', 'no box can be had')
    const passed = !text.includes('no-boot')
    return {
      passed,
      stage: passed ? 'done' : 'handshake',
      summary: passed ? 'handshake and one turn' : 'it ended (exit code 3)',
      exitCode: passed ? null : 3,
      stderr: '',
      durationMs: 1,
      tools: [],
      firstRequest: null,
    }
  }

  async close(): Promise<void> {}

  async #says(revision: string): Promise<string> {
    return (await this.#revisions.read(revision)).find(({ path }) => path === 'main.ts')?.text ?? ''
  }
}

export class StandInGeneration implements Generation {
  readonly generation: number
  readonly revision: string
  readonly activation: number
  readonly startMs = 1
  readonly ended: Promise<GenerationEnd>
  stopped: string | null = null
  /** Ends it, as a crash does. */
  end: (end: GenerationEnd) => void = () => {}

  constructor(spec: GenerationSpec, generation: number) {
    this.generation = generation
    this.revision = spec.revision
    this.activation = spec.activation
    this.ended = new Promise((resolve) => {
      this.end = resolve
    })
  }

  async runTurn() {
    return { outcome: 'yielded' as const, reason: null, steps: 0 }
  }
  async drain() {
    return { waitedMs: 0, interrupted: false }
  }
  async cancel() {}
  async stop(reason: string): Promise<void> {
    this.stopped ??= reason
    this.end({ kind: 'stopped', reason })
  }
  now() {
    return null
  }
}

/** A running task that hands over at once, or when `boundary` resolves. */
export class StandInTask implements ActivationTarget {
  readonly task: string
  readonly approve: 'none' | 'rules' | 'all'
  readonly generations: Generation[] = []
  readonly #box: TaskContext['box']
  boundary: Promise<void> = Promise.resolve()
  /** Set once the task ends: it hands over no more. */
  isEnding = false

  constructor(options: { task?: string; approve?: 'none' | 'rules' | 'all'; box?: TaskContext['box'] } = {}) {
    this.task = options.task ?? 'T-1'
    this.approve = options.approve ?? 'none'
    this.#box = options.box ?? { label: this.task, mounts: {}, workdir: '/task' }
  }

  box(): TaskContext['box'] {
    return this.#box
  }

  context(): TaskContext {
    const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
    const model = {
      name: testModel.name,
      api: 'responses' as const,
      contextWindow: 100_000,
      maxOutputTokens: 4_000,
      cacheReadFactor: null,
    }
    return {
      task: this.task,
      brief: { task: this.task, instruction: 'Work.', workdir: '/task', model, propose: true, limits },
      model: testModel,
      box: this.#box,
      // The guardian asks nothing of it.
      sandbox: {} as TaskSandbox,
      complete: async () => ({ accepted: false, message: 'not yet' }),
      ask: async () => undefined,
      nextStep: async () => 1,
      refused: () => undefined,
      waitsForBudget: () => undefined,
    }
  }

  async swap(next: Generation, commit: () => Promise<void>): Promise<void> {
    if (this.isEnding) throw new KernelError('conflict', `${this.task} is ending`)
    await this.boundary
    if (this.isEnding) throw new KernelError('conflict', `${this.task} has ended`)
    await commit()
    await this.generations.at(-1)?.stop(`replaced by r${next.activation}`)
    this.generations.push(next)
  }
}
