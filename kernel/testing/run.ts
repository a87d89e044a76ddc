import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Generation, GenerationEnd, GenerationSpec, TurnEnd } from '../executor/executor.ts'
import type { ActivationTarget, FailureDecision, Guardian } from '../guardian/guardian.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { BudgetState, Gateway } from '../models/models.ts'
import { createNotices, type Notices } from '../notices.ts'
import type { ProviderReport, SandboxProvider, StandingSandbox } from '../sandbox/sandbox.ts'
import { createTasks, type TasksParts } from '../tasks/registry.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { draft, type Event, type EventKind } from '../wire/events.ts'
import type { TurnRunParams } from '../wire/executor.ts'
import type { RunRequest } from '../wire/operator.ts'
import { writePack } from './kernel.ts'

export const revision = 'a'.repeat(64)

/** One turn as a scripted executor sees it. */
export interface ScriptedTurn {
  params: TurnRunParams
  generation: ScriptedGeneration
  task: GenerationSpec['task']
  /** Resolves with the reason once the kernel asks for a safe point in this turn. */
  asked: Promise<string>
  /** Resolves once the turn is cancelled, or its executor is gone. */
  cut: Promise<void>
  /** One completed step: its number is taken, and a model call recorded. */
  step(): Promise<number>
}

/** What an executor does in a turn; the nth of its task, from 1. */
export type Behaviour = (turn: ScriptedTurn, nth: number) => Promise<TurnEnd>

export const yielded = (steps = 1): TurnEnd => ({ outcome: 'yielded', reason: null, steps })

/** Works step by step until it is asked for a safe point. */
export const untilAsked: Behaviour = async (turn) => {
  await turn.step()
  await turn.asked
  return yielded()
}

export interface RunBench {
  tasks: Tasks
  open: TestHistory
  notices: Notices
  generations: ScriptedGeneration[]
  /** Of the agent whose task runs. */
  target: ActivationTarget | null
  budgets: Pick<BudgetState, 'limitNanoUsd' | 'limitTokens' | 'spentNanoUsd' | 'spentTokens'>[]
  /** Whether every agent is there already. Default true. */
  knowsAgents: boolean
  /** What the guardian says to a crash. */
  decision: FailureDecision
  safeMode: ReturnType<Guardian['safeMode']>
  /** What is the matter with the model's endpoint. */
  endpointProblem: string | null
  report: ProviderReport
  /** Held up until it resolves. */
  startGate: Promise<void>
  startError: Error | null
  modelError: Error | null
  behaviour: Behaviour
  time: { now: number; monotonic: number }
  pack: string
  run(request?: Partial<RunRequest>): Promise<string>
  events(kinds?: readonly EventKind[]): Promise<Event[]>
  until(kind: EventKind, nth?: number): Promise<void>
  /** Quits, and opens the tasks again on the same history, as a restart does. */
  restart(options?: { kill?: boolean }): Promise<Awaited<ReturnType<Tasks['recover']>>>
  close(): Promise<void>
}

/** Tasks on a real history, with executors, guardian, boxes and models that do as the test says. */
export async function openRunBench(behaviour: Behaviour): Promise<RunBench> {
  const time = { now: 1_000_000, monotonic: 0 }
  const clock: Clock = { now: () => time.now, monotonic: () => time.monotonic }
  const open = await openTestHistory({ clock })
  const bench = {
    ...{ open, behaviour, time, notices: createNotices() },
    generations: [],
    knowsAgents: true,
    target: null,
    budgets: [],
    decision: { action: 'restart', delayMs: 0 },
    safeMode: null,
    endpointProblem: null,
    report: { name: 'local', available: true, detail: 'a test' },
    startGate: Promise.resolve(),
    startError: null,
    modelError: null,
  } as unknown as RunBench
  const boxesDir = join(open.dataDir, 'boxes')
  mkdirSync(boxesDir)
  bench.pack = writePack(join(open.dataDir, 'pack'), { script: [] })
  let turns = 0

  const guardian = {
    active: async () => (bench.knowsAgents ? { revision, activation: 1 } : null),
    createAgent: async () => {
      bench.knowsAgents = true
      return { revision, activation: 1 }
    },
    attach: (_agent: string, target: ActivationTarget) => {
      bench.target = target
      return () => {
        bench.target = null
      }
    },
    layPolicy: async () => undefined,
    trial: { of: () => null },
    // As the real one where there is nothing to fall back to.
    generationFailed: async (_agent: string, { kind, detail }: Parameters<Guardian['generationFailed']>[1]) =>
      kind === 'failed-turns' && bench.decision.action === 'restart'
        ? { action: 'give-up', reason: detail }
        : bench.decision,
    safeMode: () => bench.safeMode,
  } as unknown as Guardian
  const provider = {
    name: 'local',
    report: async () => bench.report,
    killAll: async () => 0,
    open: async () => undefined,
    snapshots: async () => [],
  } as unknown as SandboxProvider
  const gateway = {
    openBudget: (_task: string, state: RunBench['budgets'][number]) => void bench.budgets.push(state),
    closeBudget: () => undefined,
    describe: () => ({ contextWindow: 1000, maxOutputTokens: 100, cacheReadFactor: null }),
  } as unknown as Gateway
  const executors: TasksParts['executors'] = {
    async start(spec) {
      await bench.startGate
      if (bench.startError !== null) throw bench.startError
      const generation = new ScriptedGeneration(bench, spec, bench.generations.length + 1, () => {
        turns += 1
        return turns
      })
      bench.generations.push(generation)
      return generation
    },
    boot: () => Promise.reject(new Error('not in this test')),
    close: async () => undefined,
  }

  const assemble = async () => {
    bench.tasks = await createTasks({
      ...{ history: open.history, gateway, guardian, executors, provider, clock, notices: bench.notices, boxesDir },
      // No command runs here.
      standing: () => ({ rest: async () => undefined, close: async () => undefined }) as unknown as StandingSandbox,
      packsRoot: open.dataDir,
      turnLimits: { maxSteps: 50, maxMs: 60_000 },
      seed: async () => [],
      chooseModel: ({ model: name = 'sim-apprentice' }) => ({
        ...{ name, api: 'responses', baseUrl: '', keyEnv: null, simulated: true },
      }),
      requireKey: async () => undefined,
      reports: async () => [await provider.report()],
      typed: (text) => text,
      endpointProblem: async () => bench.endpointProblem,
      resolveModel: async (choice) => {
        if (bench.modelError !== null) throw bench.modelError
        return choice
      },
    })
  }
  await assemble()

  bench.run = async (request = {}) => {
    const { task } = await bench.tasks.run({ pack: bench.pack, agent: 'a', ...request })
    return task
  }
  bench.events = async (kinds) => {
    const { events } = await open.history.read({ agent: null }, { limit: 1000, ...(kinds ? { kinds } : {}) })
    return events
  }
  bench.until = async (kind, nth = 1) => {
    const stop = new AbortController()
    let left = nth
    for await (const batch of open.history.follow({ agent: null }, { after: 0, signal: stop.signal })) {
      left -= batch.filter((event) => event.kind === kind).length
      if (left <= 0) return stop.abort()
    }
  }
  bench.restart = async ({ kill = false } = {}) => {
    if (kill) for (const generation of bench.generations) generation.vanish()
    else await bench.tasks.close()
    await open.reopen()
    await assemble()
    const recovered = await bench.tasks.recover()
    await bench.tasks.proceed()
    return recovered
  }
  bench.close = async () => {
    await bench.tasks.close()
    await open.close()
  }
  return bench
}

export class ScriptedGeneration implements Generation {
  readonly generation: number
  readonly revision: string
  readonly activation: number
  readonly startMs = 1
  readonly ended: Promise<GenerationEnd>
  readonly spec: GenerationSpec
  stopped: string | null = null
  /** Does not come to a safe point, whoever asks. */
  isDeaf = false
  readonly drains: string[] = []
  end: (end: GenerationEnd) => void = () => {}
  readonly #bench: RunBench
  readonly #nextTurn: () => number
  #isGone = false
  #ask: (reason: string) => void = () => {}
  #cut: () => void = () => {}
  #turn: Promise<unknown> | null = null
  #cancelled: string | null = null

  constructor(bench: RunBench, spec: GenerationSpec, generation: number, nextTurn: () => number) {
    this.#bench = bench
    this.spec = spec
    this.generation = generation
    this.revision = spec.revision
    this.activation = spec.activation
    this.#nextTurn = nextTurn
    this.ended = new Promise((resolve) => {
      this.end = resolve
    })
  }

  async runTurn(params: TurnRunParams): Promise<TurnEnd> {
    if (this.stopped !== null) return { outcome: 'interrupted', reason: 'it has ended', steps: 0 }
    const asked = new Promise<string>((resolve) => {
      this.#ask = resolve
    })
    const cut = new Promise<void>((resolve) => {
      this.#cut = resolve
    })
    const work = this.#run(params, asked, cut)
    this.#turn = work
    try {
      return await work
    } finally {
      this.#turn = null
    }
  }

  async #run(params: TurnRunParams, asked: Promise<string>, cut: Promise<void>): Promise<TurnEnd> {
    const header = { ...this.#header, turn: params.turn }
    await this.#append(draft('turn.started', { maxSteps: params.maxSteps, maxMs: params.maxMs }, header))
    const task = this.spec.task
    const turn: ScriptedTurn = {
      ...{ params, generation: this, task, asked, cut },
      step: async () => {
        const step = await task.nextStep()
        await this.#append(draft('note.added', { text: `step ${step}` }, { ...header, step }))
        return step
      },
    }
    const done = this.#bench.behaviour(turn, this.#nextTurn())
    const end = await Promise.race([
      done,
      cut.then(
        (): TurnEnd => ({
          outcome: this.#cancelled === null ? 'interrupted' : 'cancelled',
          reason: this.#cancelled,
          steps: 0,
        }),
      ),
    ])
    await this.#append(draft('turn.ended', end, header))
    return end
  }

  async drain(reason: string): Promise<{ waitedMs: number; interrupted: boolean }> {
    this.drains.push(reason)
    if (this.#turn === null || this.isDeaf) return { waitedMs: 0, interrupted: this.isDeaf }
    this.#ask(reason)
    await this.#turn
    return { waitedMs: 0, interrupted: false }
  }

  async cancel(reason: string): Promise<void> {
    if (this.#turn === null) return
    this.#cancelled ??= reason
    this.#cut()
    await this.stop(reason)
  }

  async stop(reason: string): Promise<void> {
    this.stopped ??= reason
    this.#cut()
    this.end({ kind: 'stopped', reason })
  }

  /** Ends in the middle of its turn, by itself. */
  crash(): void {
    this.stopped = 'crashed'
    this.end({ kind: 'crashed', exitCode: 1, signal: null, outOfMemory: false, stderr: 'oh' })
    this.#cut()
  }

  /** As kill -9 of the host leaves it: nothing more of it reaches history. */
  vanish(): void {
    this.#isGone = true
  }

  now() {
    return null
  }

  get #header() {
    const { agent, task } = this.spec
    return {
      ...{ actor: 'kernel' as const, agent, task: task.task, run: 'task' as const },
      ...{ generation: this.generation, revision: this.revision },
    }
  }

  async #append(one: Parameters<TestHistory['history']['append']>[0][number]): Promise<void> {
    if (!this.#isGone) await this.#bench.open.history.append([one])
  }
}
