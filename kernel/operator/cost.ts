import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { CostRows, History } from '../history/history.ts'
import type { BucketPrices, OperatorPrices, PriceTable, SharedBudgets } from '../models/models.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Event } from '../wire/events.ts'
import type { CostReport, CostScope, PriceInForce, TroubledRow } from '../wire/operator-cost.ts'
import { causeOf } from './cost-causes.ts'

/** Of each list; what is beyond it is one row. */
const rows = 200
const points = 400
/** Of which the cause is looked up, and calls that are shown with their reason. */
const shown = 50
/** Of two items, around the place where they part. */
const contextChars = 160

interface Parts {
  history: History
  tasks: Tasks
  shared: Pick<SharedBudgets, 'list'>
  prices: OperatorPrices
  table: PriceTable
  clock: Clock
}

/** What the operator is told of costs. Every figure is from roll-ups, read at one moment; none from the log. */
export function createCostDesk({ history, tasks, shared, prices, table, clock }: Parts) {
  async function report(scope: CostScope): Promise<CostReport> {
    requireKnown(scope)
    const at = clock.now()
    const since = scope.of === 'today' ? new Date(at).setHours(0, 0, 0, 0) : null
    const filter = scope.of === 'today' || scope.of === 'all' ? ({ of: 'time', fromMs: since ?? 0 } as const) : scope
    const found = await history.cost(filter, { rows, points })
    const { total } = found
    const [breaks, troubled, caps] = await Promise.all([
      Promise.all(found.breaks.slice(0, shown).map((row) => withCause(row))),
      Promise.all(found.troubled.slice(0, shown).map((seq) => troubledOf(seq))),
      capsOf(scope),
    ])
    return {
      ...{ scope, at, since, caps, breaks: breaksOf(total, breaks), troubled: troubled.flatMap((row) => row ?? []) },
      total: { ...priced(total), turns: total.turns },
      byModel: found.byModel.map(priced),
      byRevision: found.byRevision.map(priced),
      byTask: found.byTask.map(priced),
      byTool: found.byTool.map(priced),
      series: found.series,
      context: contextOf(found),
      repeats: found.repeats.map(priced),
    }
  }

  function requireKnown(scope: CostScope): void {
    const all = tasks.states()
    if ('task' in scope && !all.some(({ task }) => task === scope.task))
      throw new KernelError('not-found', `there is no task ${scope.task}`)
  }

  async function withCause({
    before: _b,
    after: _a,
    since,
    sinceRevision,
    revision,
    ...row
  }: CostRows['breaks'][number]) {
    const [event, cause] = await Promise.all([
      history.get({ agent: null }, row.seq),
      causeOf(history, { ...row, since, sinceRevision, revision }),
    ])
    return { ...row, at: event?.at ?? 0, ...cause }
  }

  async function troubledOf(seq: number): Promise<TroubledRow | null> {
    const event = await history.get({ agent: null }, seq)
    if (event?.kind !== 'model.called' || event.data === null) return null
    const { at, task, agent, data } = event as Event<'model.called'>
    const { model, status, usageSource, costNanoUsd, error, costReason } = data
    return {
      ...{ seq, at, task: task ?? '', agent: agent ?? '', model, status, usageSource, costNanoUsd },
      reason: [error, costReason, unreported[usageSource]].filter((text) => text !== null).join('; '),
    }
  }

  async function capsOf(scope: CostScope): Promise<CostReport['caps']> {
    const budgets = await shared.list()
    const day = budgets.find((budget) => budget.scope === 'day')
    const caps: CostReport['caps'] = []
    if ('task' in scope) {
      const { limits, totals } = await tasks.get(scope.task)
      caps.push({
        ...{ of: 'task', name: scope.task, limitNanoUsd: limits.budgetNanoUsd, limitTokens: limits.budgetTokens },
        spentNanoUsd: (await history.cost({ of: 'task', task: scope.task }, { rows: 0, points: 1 })).total.knownNanoUsd,
        spentTokens: totals.uncached + totals.cacheRead + totals.cacheWrite + totals.output,
      })
    }
    if (scope.of === 'agent') {
      const root = await history.lineageRoot(scope.agent)
      const own = budgets.find((budget) => budget.agent === root)
      if (own !== undefined) caps.push({ ...limitsOf(own), of: 'agent', name: root })
    }
    if (day !== undefined) caps.push({ ...limitsOf(day), of: 'day', name: 'today' })
    return caps
  }

  return {
    report,

    async difference(seq: number) {
      const found = await history.costBreak(seq)
      if (found === null) throw new KernelError('not-found', `event ${seq} broke no cache`)
      const text = async (hash: string | null) => (hash === null ? null : String(await history.getBlob(hash)))
      return aroundParting(await text(found.before), await text(found.after))
    },

    async prices(): Promise<{ version: string; rows: PriceInForce[] }> {
      const used = new Map<string, { name: string; baseUrl: string; simulated: boolean }>()
      const add = (model: { name: string; baseUrl: string; simulated: boolean }) => {
        // The simulator's port is another at each start.
        const key = model.simulated ? model.name : `${model.name} ${model.baseUrl}`
        used.set(key, model)
      }
      for (const { model } of tasks.states()) add(model)
      const own = prices.list()
      for (const { name, baseUrl } of own) if (!used.has(`${name} ${baseUrl}`)) add({ name, baseUrl, simulated: false })
      return { version: table.version, rows: [...used.values()].map((model) => priceInForce(model)) }
    },
  }

  function priceInForce(model: { name: string; baseUrl: string; simulated: boolean }): PriceInForce {
    const found = table.price(model, clock.now())
    const named = { model: model.name, baseUrl: model.baseUrl, simulated: model.simulated }
    if (found.price === null) {
      const none = { input: null, cachedInput: null, cacheWrite: null, output: null, above: [] }
      return { ...named, ...none, since: null, source: null, reason: found.reason, isOverride: false }
    }
    const { since, source, above = [] } = found.price
    return {
      ...{ ...named, ...perMillion(found.price), since, source, reason: null, isOverride: source === setByOperator },
      above: above.map(({ inputTokens, price }) => ({ inputTokens, ...perMillion(price) })),
    }
  }
}

/** As the price table names them (models/prices.ts). */
const setByOperator = 'set by the operator'

const unreported = { reported: null, estimated: 'its tokens are an estimate', none: 'no tokens are known' } as const

function perMillion({ uncached, cacheRead, cacheWrite, output }: BucketPrices) {
  // Nano-dollars a token are thousandths of a dollar per million.
  const usd = (perToken: number | null) => (perToken === null ? null : perToken / 1000)
  return { input: usd(uncached), cachedInput: usd(cacheRead), cacheWrite: usd(cacheWrite), output: usd(output) }
}

function limitsOf(of: Awaited<ReturnType<SharedBudgets['list']>>[number]) {
  const { limitNanoUsd, spentNanoUsd, limitTokens, spentTokens } = of
  return { limitNanoUsd, spentNanoUsd, limitTokens, spentTokens }
}

/** One unknown price makes the sum unknown. */
function priced<T extends { knownNanoUsd: number; unpriced: number }>(row: T): T & { costNanoUsd: number | null } {
  return { ...row, costNanoUsd: row.unpriced === 0 ? row.knownNanoUsd : null }
}

function breaksOf(total: CostRows['total'], rows: CostReport['breaks']['rows']): CostReport['breaks'] {
  const { breaks: count, missed, missedNanoUsd, missedUnknown } = total
  return { count, missed, missedNanoUsd, missedUnknown, rows }
}

/** Instructions, tools and memory stand in every request: what they cost is a rent. */
function contextOf({ total, latest }: CostRows): CostReport['context'] {
  const isKnown = total.rentUnknown === 0
  const rent = { instructions: total.rentInstructions, tools: total.rentTools, memory: total.rentMemory }
  const block = (name: 'instructions' | 'tools' | 'memory' | 'messages' | 'toolResults') => ({
    ...{ block: name, tokens: total[name], latest: latest?.[name] ?? null },
    rentNanoUsd: isKnown && name in rent ? rent[name as keyof typeof rent] : null,
  })
  return {
    blocks: [block('instructions'), block('tools'), block('memory'), block('messages'), block('toolResults')],
    rentUnknown: total.rentUnknown,
  }
}

function aroundParting(before: string | null, after: string | null) {
  let at = 0
  while (before !== null && after !== null && at < before.length && before[at] === after[at]) at += 1
  const cut = (text: string | null) => {
    if (text === null) return null
    const [from, to] = [Math.max(0, at - contextChars / 2), at + contextChars]
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
  }
  return { before: cut(before), after: cut(after) }
}
