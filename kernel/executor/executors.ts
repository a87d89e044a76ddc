import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Event, EventKind } from '../wire/events.ts'
import { bootCheck } from './boot.ts'
import { OpenCalls } from './calls.ts'
import { continuedHistory } from './continued.ts'
import type { Executors, Generation, GenerationSpec } from './executor.ts'
import { ExecutorGeneration } from './generation.ts'
import { keptTexts } from './kept-texts.ts'
import { References } from './references.ts'
import type { ExecutorParts, TaskMemory } from './running.ts'
import { defaultTimings, type Timings } from './timings.ts'

const processKinds = [
  'executor.started',
  'executor.stopped',
  'executor.crashed',
  'executor.hung',
] as const satisfies EventKind[]

/** @param options `timings` overrides single deadlines; only tests do. */
export function createExecutors(options: Omit<ExecutorParts, 'timings'> & { timings?: Partial<Timings> }): Executors {
  const parts: ExecutorParts = { ...options, timings: { ...defaultTimings, ...options.timings } }
  const live = new Set<ExecutorGeneration>()
  const memories = new Map<string, { memory: TaskMemory; users: number }>()
  const storedBytes = new Map<string, number>()
  let lastGeneration: Promise<number> | null = null
  let isClosed = false

  /** Numbers never come back, so that what an earlier process left behind cannot pass for a later one. */
  function nextGeneration(): Promise<number> {
    const last = lastGeneration ?? latestGeneration(parts.history)
    lastGeneration = last.then((number) => number + 1)
    lastGeneration.catch(() => {
      lastGeneration = null
    })
    return lastGeneration
  }

  function takeMemory({ history, artifacts }: ExecutorParts, agent: string, task: string): TaskMemory {
    const held = memories.get(task)
    if (held) {
      held.users += 1
      return held.memory
    }
    const memory: TaskMemory = {
      calls: new OpenCalls(history, parts.clock, agent),
      references: new References(history, agent, task),
      storedBytes: storedBytes.get(task) ?? 0,
      sentItems: new Set(),
      kept: keptTexts({ history, artifacts }, agent, task),
    }
    memories.set(task, { memory, users: 1 })
    return memory
  }

  function releaseMemory(task: string): void {
    const held = memories.get(task)
    if (!held) return
    held.users -= 1
    if (held.users > 0) return
    storedBytes.set(task, held.memory.storedBytes)
    memories.delete(task)
  }

  async function start(spec: GenerationSpec): Promise<Generation> {
    if (isClosed) throw new KernelError('unavailable', 'the kernel is closing')
    await requireAuthorised(parts.history, spec)
    const number = await nextGeneration()
    const { task, continues } = spec.task
    const known =
      continues === undefined ? parts : { ...parts, history: continuedHistory(parts.history, task, continues) }
    const memory = takeMemory(known, spec.agent, task)
    try {
      const label = labelOf('executor', spec.agent, `g${number}`)
      const generation = await ExecutorGeneration.start({ parts: known, spec, generation: number, memory, label })
      live.add(generation)
      void generation.ended.then(() => {
        live.delete(generation)
        releaseMemory(task)
      })
      if (isClosed) await generation.stop('the kernel is closing')
      return generation
    } catch (error) {
      releaseMemory(task)
      throw error
    }
  }

  return {
    start,
    boot: (revision, agent) => bootCheck(parts, revision, agent, labelOf('boot', agent, revision.slice(0, 12))),
    async close() {
      isClosed = true
      await Promise.all([...live].map((generation) => generation.stop('the kernel is closing')))
    },
  }
}

/**
 * No tree starts outside a check box before the event that authorises exactly its hash, for this agent. One for a trial
 * is good for that trial's own fork, and for nothing else.
 */
async function requireAuthorised(history: History, { agent, revision, run }: GenerationSpec): Promise<void> {
  const isGood = (event: Event): boolean =>
    event.kind === 'revision.authorised' &&
    event.data.revision === revision &&
    (event.data.by !== 'trial' || (run === 'trial' && event.agent === agent))
  let before: number | null | undefined
  while (before !== null) {
    const page = await history.read(
      { agent },
      { kinds: ['revision.authorised'], order: 'desc', limit: 1000, ...(before === undefined ? {} : { before }) },
    )
    if (page.events.some(isGood)) return
    before = page.next
  }
  throw new KernelError('forbidden', `revision ${revision.slice(0, 12)} has never been authorised for ${agent}`)
}

async function latestGeneration(history: History): Promise<number> {
  const latest = await Promise.all(processKinds.map((kind) => history.latest({ agent: null }, kind)))
  return Math.max(0, ...latest.map((event) => event?.generation ?? 0))
}

function labelOf(...parts: string[]): string {
  return parts.map((part) => part.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 60)).join('-')
}
