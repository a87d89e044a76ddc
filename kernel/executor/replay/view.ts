import { createHash } from 'node:crypto'
import type { Artifacts } from '../../artifacts/artifacts.ts'
import { KernelError } from '../../errors.ts'
import type { ActivationRow, History, ReadOptions, StepRow, TaskTotals, ToolRow, View } from '../../history/history.ts'
import type { Event, TokenUsage } from '../../wire/events.ts'
import type { ArtifactRef, ArtifactValue } from '../../wire/executor.ts'

/** A moment of a task: the last event there is, its time, and the step that is about to be made. It may move on while it is replayed. */
export interface Moment {
  task: string
  asOf: number
  at: number
  step: number
  model: string
}

/**
 * History as it was at a moment. What is written to it is swallowed: blobs can be read back, events cannot. What roll-ups
 * sum up is summed up again from the task's steps before this one.
 */
export function historyAt(history: History, moment: Moment): History {
  const { task, model } = moment
  const blobs = new Map<string, Buffer>()
  let swallowed = 0
  const capped = (view: View): View => ({ ...view, asOf: Math.min(view.asOf ?? moment.asOf, moment.asOf) })
  let rows: Promise<StepRow[]> | null = null
  const before = async (): Promise<StepRow[]> => {
    rows ??= history.steps(task)
    return (await rows).filter((row) => row.step < moment.step)
  }
  const later = async (): Promise<Sums> => {
    rows ??= history.steps(task)
    return sumOf((await rows).filter((row) => row.step >= moment.step))
  }
  const toolsAt = async () => toolRows(await toolEvents(history, task, moment.asOf))

  const own: Partial<History> = {
    head: () => ({ seq: moment.asOf, hash: '' }),
    get: async (view, seq) => (seq > moment.asOf ? null : history.get(view, seq)),
    read: (view, options) => history.read(capped(view), options),
    search: (view, text, options) => history.search(capped(view), text, options),
    latest: (view, kind, filter) => history.latest(capped(view), kind, filter),
    async append(drafts) {
      swallowed += drafts.length
      return drafts.map((_, index) => ({ seq: moment.asOf + swallowed - drafts.length + index + 1 }) as Event)
    },
    appendIfActive: refused,
    putRequest: refused,
    backUp: refused,
    archive: refused,
    async putBlob(bytes) {
      const kept = Buffer.from(bytes)
      const hash = createHash('sha256').update(kept).digest('hex')
      blobs.set(hash, kept)
      return hash
    },
    getBlob: async (hash) => blobs.get(hash) ?? history.getBlob(hash),
    hasBlob: async (hash) => blobs.has(hash) || history.hasBlob(hash),
    grantBlob: async () => undefined,
    mayRead: async (agent, hash) => blobs.has(hash) || history.mayRead(agent, hash),

    steps: async (of, options) => (of === task ? before() : history.steps(of, options)),
    async totals(scope): Promise<TaskTotals> {
      const latest = await history.latest({ agent: null, asOf: moment.asOf }, 'task.progressed', { task })
      if (scope.task === task) return { ...sumOf(await before()), progress: latest?.data ?? null }
      const all = await history.totals(scope)
      return scope.task === undefined ? { ...all, ...minus(all, await later()) } : all
    },
    async byModel(scope) {
      if (scope.task !== undefined && scope.task !== task) return history.byModel(scope)
      const change = scope.task === task ? null : await later()
      const found = change === null ? [{ model, ...asModel(sumOf(await before())) }] : await history.byModel(scope)
      if (change === null) return found
      return found.map((row) => (row.model === model ? { ...row, ...asModel(minus(fromModel(row), change)) } : row))
    },
    activations: async (of) => (of === task ? activationsOf(await before()) : history.activations(of)),
    async tools(scope) {
      if (scope.task === task) return toolsAt()
      const found = await history.tools(scope)
      if (scope.task !== undefined) return found
      const [then, now] = [await toolsAt(), await history.tools({ task })]
      return found.map((row) => withoutLater(row, then, now))
    },
    async repeatedCalls(of, limit) {
      return of === task
        ? repeats(await toolEvents(history, task, moment.asOf), limit)
        : history.repeatedCalls(of, limit)
    },
    async cacheBreaks(of, limit) {
      if (of !== task) return history.cacheBreaks(of, limit)
      const broken = (await before()).flatMap(({ cacheBreak, step: at, costNanoUsd }) =>
        cacheBreak === null ? [] : [{ ...cacheBreak, step: at, costNanoUsd }],
      )
      return broken.reverse().slice(0, limit)
    },
  }
  return Object.assign(Object.create(history) as History, own)
}

/** Artifacts as they were at a moment. What is put is there for whoever put it, and for nobody else. */
export function artifactsAt(artifacts: Artifacts, moment: Pick<Moment, 'at'>, now: () => number): Artifacts {
  const written = new Map<string, ArtifactValue[]>()
  const versions = async (agent: string, name: string): Promise<ArtifactRef[]> => {
    const recorded = await artifacts.versions(agent, name).catch((error: unknown) => {
      if (error instanceof KernelError && error.code === 'not-found') return []
      throw error
    })
    const own = (written.get(name) ?? []).map(({ text: _, ...ref }) => ref)
    return [...recorded.filter((ref) => ref.at <= moment.at), ...own]
  }
  return {
    async put(agent, name, text, _context, expectVersion) {
      const latest = (await versions(agent, name)).at(-1)?.version ?? 0
      if (expectVersion !== undefined && expectVersion !== latest)
        throw new KernelError('conflict', `${name} is at version ${latest}, not ${expectVersion}`)
      const hash = createHash('sha256').update(text).digest('hex')
      const ref = { name, version: latest + 1, hash, sizeBytes: Buffer.byteLength(text), at: now() }
      written.set(name, [...(written.get(name) ?? []), { ...ref, text }])
      return ref
    },
    async get(agent, name, version) {
      const all = await versions(agent, name)
      const wanted = version === undefined ? all.at(-1) : all.find((ref) => ref.version === version)
      if (wanted === undefined) throw new KernelError('not-found', `no artifact ${name}`)
      const own = written.get(name)?.find((value) => value.version === wanted.version)
      return own ?? artifacts.get(agent, name, wanted.version)
    },
    async list(agent, prefix = '') {
      const names = new Set((await artifacts.list(agent, prefix)).map(({ name }) => name))
      for (const name of written.keys()) if (name.startsWith(prefix)) names.add(name)
      const latest = await Promise.all([...names].sort().map(async (name) => (await versions(agent, name)).at(-1)))
      return latest.filter((ref) => ref !== undefined)
    },
    versions,
  }
}

type Sums = TokenUsage & Pick<TaskTotals, 'steps' | 'modelCalls' | 'failedCalls' | 'costNanoUsd'>
const buckets = ['uncached', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const

function sumOf(rows: readonly StepRow[]): Sums {
  const total = (of: (row: StepRow) => number) => rows.reduce((sum, row) => sum + of(row), 0)
  const usage = Object.fromEntries(
    buckets.map((bucket) => [bucket, total((row) => row[bucket])]),
  ) as unknown as TokenUsage
  return {
    ...usage,
    steps: rows.length,
    modelCalls: total((row) => row.modelCalls),
    failedCalls: total((row) => row.failedCalls),
    costNanoUsd: rows.some((row) => row.costNanoUsd === null) ? null : total((row) => row.costNanoUsd ?? 0),
  }
}

function minus(all: Sums, later: Sums): Sums {
  const usage = Object.fromEntries(
    buckets.map((bucket) => [bucket, all[bucket] - later[bucket]]),
  ) as unknown as TokenUsage
  return {
    ...usage,
    steps: all.steps - later.steps,
    modelCalls: all.modelCalls - later.modelCalls,
    failedCalls: all.failedCalls - later.failedCalls,
    costNanoUsd: all.costNanoUsd === null || later.costNanoUsd === null ? null : all.costNanoUsd - later.costNanoUsd,
  }
}

const asModel = ({ steps: _, modelCalls, failedCalls, ...rest }: Sums) => ({
  ...rest,
  calls: modelCalls,
  failed: failedCalls,
})
const fromModel = ({ calls, failed, ...rest }: ReturnType<typeof asModel>): Sums => ({
  ...rest,
  steps: 0,
  modelCalls: calls,
  failedCalls: failed,
})

function activationsOf(rows: readonly StepRow[]): ActivationRow[] {
  const by = new Map<number, StepRow[]>()
  for (const row of rows) by.set(row.activation, [...(by.get(row.activation) ?? []), row])
  return [...by].map(([activation, own]) => {
    const from = rows[rows.findIndex((row) => row.activation === activation) - 1]
    return {
      ...sumOf(own),
      agent: '',
      task: own[0]?.task ?? '',
      activation,
      revision: own[0]?.revision ?? '',
      progressFrom: from?.progress ?? null,
      progressTo: own.at(-1)?.progress ?? null,
    }
  })
}

async function toolEvents(history: History, task: string, asOf: number): Promise<Event[]> {
  const found: Event[] = []
  const options: ReadOptions = { kinds: ['tool.called', 'tool.finished'], task, limit: 1000 }
  for (let after: number | null = 0; after !== null; ) {
    const page = await history.read({ agent: null, asOf }, { ...options, after })
    found.push(...page.events)
    after = page.next
  }
  return found
}

function toolRows(events: readonly Event[]): ToolRow[] {
  const rows = new Map<string, ToolRow>()
  for (const event of events) {
    if (event.kind !== 'tool.called' && event.kind !== 'tool.finished') continue
    const { name } = event.data
    const row = rows.get(name) ?? { name, calls: 0, errors: 0, interrupted: 0, outputBytes: 0, durationMs: 0 }
    rows.set(name, row)
    if (event.kind === 'tool.called') row.calls += 1
    else {
      row.errors += Number(event.data.outcome === 'error')
      row.interrupted += Number(event.data.outcome === 'interrupted')
      row.outputBytes += event.data.outputBytes
      row.durationMs += event.data.durationMs ?? 0
    }
  }
  return [...rows.values()].sort((a, b) => b.calls - a.calls)
}

function withoutLater(row: ToolRow, then: readonly ToolRow[], now: readonly ToolRow[]): ToolRow {
  const [was, is] = [then, now].map((rows) => rows.find(({ name }) => name === row.name))
  const less = (of: keyof Omit<ToolRow, 'name'>) => row[of] - (is?.[of] ?? 0) + (was?.[of] ?? 0)
  return {
    name: row.name,
    calls: less('calls'),
    errors: less('errors'),
    interrupted: less('interrupted'),
    outputBytes: less('outputBytes'),
    durationMs: less('durationMs'),
  }
}

function repeats(events: readonly Event[], limit: number) {
  const counts = new Map<string, { name: string; arguments: string; count: number }>()
  for (const event of events) {
    if (event.kind !== 'tool.called') continue
    const { name, arguments: given } = event.data
    const key = JSON.stringify([name, given])
    const row = counts.get(key) ?? { name, arguments: given, count: 0 }
    row.count += 1
    counts.set(key, row)
  }
  return [...counts.values()]
    .filter(({ count }) => count > 1)
    .sort((a, b) => b.count - a.count || a.name.localeCompare(b.name))
    .slice(0, limit)
}

async function refused(): Promise<never> {
  throw new KernelError('forbidden', 'a replay writes nothing')
}
