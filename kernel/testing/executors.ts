import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createArtifacts } from '../artifacts/store.ts'
import { systemClock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Executors, Generation, PolicyService, Replays, TaskContext } from '../executor/executor.ts'
import { createExecutors } from '../executor/executors.ts'
import { createReplays } from '../executor/replay/replays.ts'
import type { Timings } from '../executor/timings.ts'
import { openTestHistory } from '../history/fixture.ts'
import type { Gateway, GatewayAnswer, GatewayCall } from '../models/models.ts'
import { createTokenCounter } from '../models/tokens.ts'
import { createRevisions } from '../revisions/tree.ts'
import * as files from '../sandbox/files.ts'
import { localProvider } from '../sandbox/local.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { RunSandbox } from '../tasks/task-sandbox.ts'
import { createQuarantine } from '../tools/quarantine.ts'
import { draft, type Event, type EventKind, type ModelChoice } from '../wire/events.ts'
import { testStanding } from './standing.ts'

const root = join(import.meta.dirname, '../..')
export const testModel: ModelChoice = {
  name: 'test-model',
  api: 'responses',
  baseUrl: 'http://127.0.0.1:1/v1',
  keyEnv: 'TEST_KEY',
  simulated: true,
}

/** What the model says, call by call; the gateway's other side is the one thing here that is not real. */
export type ScriptedModel = (call: GatewayCall, nth: number) => Promise<GatewayAnswer> | GatewayAnswer

export interface TestExecutors {
  executors: Executors
  replays: Replays
  open: Awaited<ReturnType<typeof openTestHistory>>
  provider: ReturnType<typeof localProvider>
  calls: GatewayCall[]
  put(files: TreeFile[] | string): Promise<string>
  /** Starts an authorised generation of a fixture policy, or of this one, on task T-1. */
  start(
    policy: string | TreeFile[],
    options?: { instruction?: unknown; maxSteps?: number; agent?: string },
  ): Promise<Generation>
  events(kinds?: readonly EventKind[]): Promise<Event[]>
  kinds(): Promise<string[]>
  close(): Promise<void>
}

/** Executors over a real history and real boxes, with a model that answers from `model`. */
export async function openTestExecutors(
  options: {
    timings?: Partial<Timings>
    model?: ScriptedModel
    policy?: Partial<PolicyService>
    world?: { state(): Promise<string | null>; load(state: string): Promise<void> }
  } = {},
): Promise<TestExecutors> {
  const open = await openTestHistory()
  const { history } = open
  const boxesDir = join(open.dataDir, 'boxes')
  mkdirSync(boxesDir)
  const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
  const wireSource = readFileSync(join(root, 'kernel/wire/executor.ts'), 'utf8')
  const revisions = createRevisions({ history, boxesDir, wireSource })
  const calls: GatewayCall[] = []
  const quarantine = createQuarantine(history)
  const known = {
    ...{ history, revisions, provider, quarantine, clock: systemClock },
    artifacts: createArtifacts({ history }),
    gateway: scriptedGateway(calls, options.model ?? (() => says('Done.'))),
    tokens: createTokenCounter(),
    timings: options.timings ?? {},
  }
  const executors = createExecutors({ ...known, files, policy: () => (options.policy ?? {}) as PolicyService })
  const replays = createReplays({ ...known, instructionOf: ({ instruction }) => instruction })
  const steps = new Map<string, number>()
  const sandboxes: RunSandbox[] = []

  const test: TestExecutors = {
    executors,
    replays,
    open,
    provider,
    calls,
    put: (tree) => revisions.put(typeof tree === 'string' ? fixture(tree) : tree),
    async start(policy, { instruction = 'Work.', maxSteps, agent = 'apprentice' } = {}) {
      const revision = await test.put(policy)
      const authorised = { revision, by: 'seed', proposal: null } as const
      await history.append([draft('revision.authorised', authorised, { actor: 'kernel', agent })])
      const box = taskBox(boxesDir)
      const sandbox = new RunSandbox(
        { history, provider, clock: systemClock, standing: testStanding(provider) },
        { agent, task: 'T-1', box, jobsDir: join(boxesDir, 'T-1.jobs'), world: options.world ?? noWorld },
      )
      sandboxes.push(sandbox)
      await sandbox.open()
      const task = taskContext(box, sandbox, instruction, () => {
        const used = steps.get(agent) ?? 0
        if (maxSteps !== undefined && used >= maxSteps) {
          throw new KernelError('over-budget', `the limit of ${maxSteps} steps is reached`, {
            details: { budget: 'steps', limit: maxSteps, used },
          })
        }
        steps.set(agent, used + 1)
        return used + 1
      })
      return executors.start({ agent, run: 'task', revision, activation: 1, task })
    },
    async events(kinds) {
      const { events } = await history.read({ agent: null }, { limit: 1000, ...(kinds ? { kinds } : {}) })
      return events
    },
    async kinds() {
      const events = await test.events()
      return events
        .map(({ kind }) => kind)
        .filter((kind) => !kind.startsWith('kernel.') && kind !== 'revision.authorised')
    },
    async close() {
      await Promise.all(sandboxes.map((sandbox) => sandbox.close()))
      await executors.close()
      await provider.close()
      await open.close()
    },
  }
  return test
}

function fixture(name: string): TreeFile[] {
  const read = (file: string): string => readFileSync(join(root, 'kernel/executor/fixtures', `${file}.ts`), 'utf8')
  return [
    { path: 'client.ts', text: read('client') },
    { path: 'main.ts', text: read(name) },
  ]
}

/** An answer of one text. */
export function says(text: string): GatewayAnswer {
  return answer([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }])
}

/** An answer that calls tools: name, arguments. */
export function asks(...calls: [id: string, name: string, given: unknown][]): GatewayAnswer {
  return answer(
    calls.map(([id, name, given]) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: JSON.stringify(given),
      status: 'completed',
    })),
  )
}

export function answer(output: unknown[], over: Partial<GatewayAnswer> = {}): GatewayAnswer {
  return {
    status: 'completed',
    response: { id: 'resp', model: testModel.name, output },
    attempts: 1,
    usage: { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 },
    usageSource: 'reported',
    costNanoUsd: 7,
    costReason: null,
    priceVersion: 'test',
    durationMs: 1,
    firstByteMs: 1,
    error: null,
    ...over,
  }
}

function scriptedGateway(calls: GatewayCall[], model: ScriptedModel): Gateway {
  return {
    async call(call) {
      calls.push(call)
      const given = await model(call, calls.length)
      await call.onAttempt({
        attempt: 1,
        status: given.status,
        httpStatus: given.status === 'completed' ? 200 : null,
        error: given.error?.message ?? null,
        durationMs: given.durationMs,
        usage: given.usage,
        usageSource: given.usageSource,
        costNanoUsd: given.costNanoUsd,
      })
      return given
    },
    openBudget: () => undefined,
    hold: async () => undefined,
    release: () => undefined,
    budget: () => null,
    raiseBudget: () => undefined,
    closeBudget: () => undefined,
    requirePrice: async () => undefined,
    whenRoom: async () => undefined,
    describe: () => ({ contextWindow: 100_000, maxOutputTokens: 4_000, cacheReadFactor: null }),
    requireAllowed: () => undefined,
    // As one that takes a tenth for what its cache holds.
    cost: (_model, { uncached, cacheRead, output }) => ({
      costNanoUsd: uncached * 1000 + cacheRead * 100 + output * 8000,
      reason: null,
    }),
  }
}

const noWorld = { state: async () => null, load: async () => undefined }

function taskBox(boxesDir: string): TaskContext['box'] {
  const folder = join(boxesDir, 'T-1', 'root')
  mkdirSync(folder, { recursive: true })
  return { label: 'T-1', mounts: { root: folder }, workdir: '/task' }
}

function taskContext(
  box: TaskContext['box'],
  sandbox: RunSandbox,
  instruction: unknown,
  nextStep: () => number,
): TaskContext {
  const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
  return {
    task: 'T-1',
    brief: {
      task: 'T-1',
      instruction: typeof instruction === 'string' ? instruction : JSON.stringify(instruction),
      workdir: '/task',
      model: {
        name: testModel.name,
        api: 'responses',
        contextWindow: 100_000,
        maxOutputTokens: 4_000,
        cacheReadFactor: null,
      },
      propose: true,
      limits,
    },
    model: testModel,
    box,
    sandbox,
    complete: async (summary) => ({ accepted: summary === 'done', message: 'measured' }),
    ask: async () => undefined,
    nextStep: async () => nextStep(),
    refused: () => undefined,
    waitsForBudget: () => undefined,
  }
}
