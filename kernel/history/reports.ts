import type { Store } from '../store/store.ts'
import type { Progress } from '../wire/events.ts'
import type { ActivationRow, CostRows, History, StepRow, TaskTotals, ToolRow } from './history.ts'

type Reports = Pick<
  History,
  | 'steps'
  | 'activationSteps'
  | 'policyWork'
  | 'activations'
  | 'totals'
  | 'spent'
  | 'lineageRoot'
  | 'tools'
  | 'toolOperations'
  | 'toolCallsSince'
  | 'repeatedCalls'
  | 'byModel'
  | 'cacheBreaks'
  | 'cost'
  | 'costBreak'
>

/** Sums as the store names them. */
interface Sums {
  uncached: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
  calls: number
  failed: number
  costNanoUsd: number | null
}

type StoredStep = Sums &
  Omit<StepRow, 'modelCalls' | 'failedCalls' | 'cacheBreak' | 'isPolicyWork'> & {
    policyWork: number
    breakSeq: number | null
    breakIndex: number | null
    breakKind: string | null
  }

/** Reports from what the writer summed up, never from the log. */
export function createReports(store: Pick<Store, 'query'>): Reports {
  return {
    async steps(task, { afterTurn = -1, afterStep = Number.MAX_SAFE_INTEGER } = {}) {
      const rows = (await store.query('steps', task, afterTurn, afterStep)) as StoredStep[]
      return rows.map(stepOf)
    },
    async activationSteps(agent, activation, { task = null, limit, isLast = false }) {
      const rows = await store.query('activationSteps', agent, activation, { task, limit, isLast })
      return (rows as StoredStep[]).map(stepOf)
    },
    async policyWork(agent, { after, until }) {
      const row = (await store.query('policyWork', agent, after, until)) as Sums & { steps: number }
      return { steps: row.steps, costNanoUsd: row.costNanoUsd }
    },
    async activations(task) {
      const rows = (await store.query('activations', task)) as (Sums & ActivationRow)[]
      return rows.map(renamed)
    },
    async totals({ sinceMs = null, ...scope }) {
      const row = (await store.query('totals', scope, sinceMs)) as Sums & { steps: number; progress: Progress | null }
      return renamed(row) satisfies TaskTotals
    },
    spent: async (scope) => (await store.query('spent', scope)) as { nanoUsd: number; tokens: number },
    lineageRoot: async (agent) => (await store.query('lineageRoot', agent)) as string,
    tools: async (scope) => (await store.query('tools', scope)) as ToolRow[],
    async toolOperations(agent) {
      const rows = await store.query('toolOperations', agent)
      return rows as Awaited<ReturnType<History['toolOperations']>>
    },
    toolCallsSince: async (agent, tool, sinceMs) =>
      (await store.query('toolCallsSince', agent, tool, sinceMs)) as number,
    async byModel(scope) {
      const rows = await store.query('byModel', scope)
      return rows as Awaited<ReturnType<History['byModel']>>
    },
    async repeatedCalls(task, limit) {
      const rows = await store.query('repeatedCalls', task, limit)
      return rows as Awaited<ReturnType<History['repeatedCalls']>>
    },
    cost: async (filter, limits) => (await store.query('cost', filter, limits)) as unknown as CostRows,
    costBreak: async (seq) =>
      ((await store.query('costBreak', seq)) as { before: string | null; after: string | null } | undefined) ?? null,
    async cacheBreaks(task, limit) {
      const rows = await store.query('cacheBreaks', task, limit)
      return rows as Awaited<ReturnType<History['cacheBreaks']>>
    },
  }
}

function stepOf({ breakSeq, breakIndex, breakKind, policyWork, ...row }: StoredStep): StepRow {
  return {
    ...renamed(row),
    isPolicyWork: policyWork === 1,
    cacheBreak: breakSeq === null ? null : { seq: breakSeq, index: breakIndex ?? 0, kind: breakKind ?? '' },
  }
}

function renamed<T extends { calls: number; failed: number }>(row: T) {
  const { calls, failed, ...rest } = row
  return { ...rest, modelCalls: calls, failedCalls: failed }
}
