import { slotMs, splitAmong } from './cost-rollups.ts'
import type { Connection } from './sqlite.ts'

export type CostFilter =
  | { of: 'turn'; task: string; turn: number }
  | { of: 'task'; task: string }
  | { of: 'agent'; agent: string }
  | { of: 'time'; fromMs: number }

const tokens = { uncached: 'uncached', cacheRead: 'cache_read', cacheWrite: 'cache_write', output: 'output' }
const shared = { ...tokens, reasoning: 'reasoning', knownNanoUsd: 'cost_nano_usd', unpriced: 'unpriced' }
const columns = {
  ...{ ...shared, calls: 'calls', failed: 'failed' },
  ...{ simulated: 'simulated', estimated: 'estimated', cacheUnreported: 'cache_unreported' },
}
const parts = {
  ...{ instructions: 'instructions', tools: 'tool_definitions', memory: 'memory', messages: 'messages' },
  toolResults: 'tool_results',
}
const whole = {
  ...{ turns: 'turns', breaks: 'breaks', missed: 'missed', missedNanoUsd: 'missed_nano_usd' },
  ...{ missedUnknown: 'missed_unknown', rentUnknown: 'rent_unknown', rentInstructions: 'rent_instructions' },
  ...{ rentTools: 'rent_tools', rentMemory: 'rent_memory' },
}
const inPoint = { ...shared, ...parts, calls: 'calls', breaks: 'breaks' }
/** Slots in a point of the series: quarters of an hour up to weeks. */
const pointSizes = [1, 2, 4, 8, 16, 48, 96, 192, 672]

type Names = Readonly<Record<string, string>>
const sumsOf = (names: Names) =>
  Object.entries(names)
    .map(([name, column]) => `coalesce(sum(${column}), 0) AS ${name}`)
    .join(', ')
const listOf = (names: Names) =>
  Object.entries(names)
    .map(([name, column]) => `${column} AS ${name}`)
    .join(', ')

type Row = Record<string, number | string | null>

/** What is read of costs: sums of whole rows of roll-ups. */
export function createCostQueries(db: Connection) {
  function scopeOf(filter: CostFilter): { where: string; values: (string | number)[] } {
    if (filter.of === 'turn') return { where: 'task = ? AND turn = ?', values: [filter.task, filter.turn] }
    if (filter.of === 'task') return { where: 'task = ?', values: [filter.task] }
    if (filter.of === 'agent') return { where: 'agent = ?', values: [filter.agent] }
    return { where: 'slot >= ?', values: [Math.floor(filter.fromMs / slotMs)] }
  }
  const tableOf = (filter: CostFilter) => (filter.of === 'turn' ? 'step_costs' : 'spend_slots')

  function grouped(filter: CostFilter, keys: readonly string[], limit: number): Row[] {
    const { where, values } = scopeOf(filter)
    const rows = db
      .prepare(`SELECT ${keys.join(', ')}, ${sumsOf(columns)} FROM ${tableOf(filter)} WHERE ${where}
        GROUP BY ${keys.join(', ')} ORDER BY knownNanoUsd DESC, sum(uncached + cache_read) DESC, ${keys.join(', ')}`)
      .all(...values) as Row[]
    return capped(rows, keys, limit)
  }

  /** Of one turn, by the tools of each of its steps: no roll-up is that fine. */
  function toolsOfTurn(task: string, turn: number): Row[] {
    const names = Object.keys(shared).filter((name) => name !== 'unpriced')
    const found = new Map<string, Row>()
    const steps = db
      .prepare(`SELECT ${listOf(shared)}, tool_names AS tools FROM step_costs WHERE task = ? AND turn = ?`)
      .all(task, turn) as Row[]
    for (const step of steps) {
      const tools = new Map(Object.entries(JSON.parse(step.tools as string) as Record<string, number>))
      const whole = names.map((name) => step[name] as number)
      for (const [name, part] of splitAmong(whole, tools)) {
        const figures = Object.fromEntries(names.map((each, index) => [each, part[index] ?? 0]))
        const row = { name, purpose: 'task', toolCalls: tools.get(name) ?? 0, ...figures, unpriced: step.unpriced ?? 0 }
        const known = found.get(name)
        if (known === undefined) found.set(name, row)
        else merge(known, row)
      }
    }
    return [...found.values()].sort((a, b) => Number(b.knownNanoUsd) - Number(a.knownNanoUsd))
  }

  function byTool(filter: CostFilter, limit: number): Row[] {
    const keys = ['name', 'purpose']
    if (filter.of === 'turn') return capped(toolsOfTurn(filter.task, filter.turn), keys, limit)
    const { where, values } = scopeOf(filter)
    const rows = db
      .prepare(`SELECT name, purpose, ${sumsOf({ ...shared, toolCalls: 'tool_calls' })} FROM tool_slots WHERE ${where}
        GROUP BY name, purpose ORDER BY knownNanoUsd DESC, sum(uncached + cache_read) DESC, name`)
      .all(...values) as Row[]
    return capped(rows, keys, limit)
  }

  function bySteps(filter: CostFilter, most: number) {
    const { where, values } = scopeOf(filter)
    const steps = db.prepare(`SELECT count(*) FROM step_costs WHERE ${where}`).pluck()
    const size = Math.max(1, Math.ceil((steps.get(...values) as number) / most))
    const rows = db
      .prepare(
        `SELECT turn, step, activation, seq, ${listOf(inPoint)} FROM step_costs WHERE ${where} ORDER BY turn, step`,
      )
      .iterate(...values) as Iterable<Row>
    const points: Row[] = []
    let at = 0
    for (const row of rows) {
      if (at % size === 0) points.push({ from: at + 1, ...row })
      else merge(points.at(-1) as Row, row)
      at += 1
    }
    return { unit: 'step' as const, size, points }
  }

  function byTime(filter: CostFilter, most: number) {
    const { where, values } = scopeOf(filter)
    const [from, to] = db
      .prepare(`SELECT min(slot), max(slot) FROM spend_slots WHERE ${where}`)
      .raw()
      .get(...values) as [number | null, number | null]
    if (from === null || to === null) return { unit: 'time' as const, size: slotMs, points: [] }
    const size = pointSizes.find((slots) => (to - from) / slots < most) ?? Math.ceil((to - from + 1) / most)
    const rows = db
      .prepare(`SELECT slot / ${size} * ${size * slotMs} AS "from", ${sumsOf(inPoint)} FROM spend_slots
        WHERE ${where} GROUP BY slot / ${size} ORDER BY 1`)
      .all(...values) as Row[]
    const points = rows.map((row) => ({ ...row, turn: null, step: null, activation: null, seq: null }))
    return { unit: 'time' as const, size: size * slotMs, points }
  }

  /** The calls made most often; where the scope is a time, in tasks that spent anything in it. */
  function repeats(filter: CostFilter, limit: number): Row[] {
    const { where, values } = scopeOf(filter)
    const turn = filter.of === 'turn' ? [filter.turn] : []
    const tasks = filter.of === 'task' ? where : `task IN (SELECT task FROM spend_slots WHERE ${where})`
    const most = db
      .prepare(
        filter.of === 'turn'
          ? `SELECT task, name, arguments_hash AS hash, sum(repeats.calls) AS calls, arguments
              FROM repeats JOIN repeated_calls USING (task, name, arguments_hash) WHERE task = ? AND turn = ?
              GROUP BY task, name, arguments_hash ORDER BY calls DESC, name, arguments_hash LIMIT ?`
          : `SELECT task, name, arguments_hash AS hash, count AS calls, arguments FROM repeated_calls
              WHERE count > 1 AND ${tasks} ORDER BY count DESC, task, name, arguments_hash LIMIT ?`,
      )
      .all(...values, limit) as Row[]
    const made = '(SELECT sum(value) FROM json_each(tool_names))'
    const again = db.prepare(`SELECT coalesce(sum(step_costs.unpriced), 0) AS unpriced,
        coalesce(sum((uncached + cache_read + cache_write + output) * repeats.calls / ${made}), 0) AS tokens,
        coalesce(sum(cost_nano_usd * repeats.calls / ${made}), 0) AS knownNanoUsd
      FROM repeats JOIN step_costs USING (task, turn, step)
      WHERE repeats.task = ? AND repeats.name = ? AND arguments_hash = ? ${turn.length === 0 ? '' : 'AND turn = ?'}`)
    return most.map(({ hash, ...row }) => ({ ...row, ...(again.get(row.task, row.name, hash, ...turn) as Row) }))
  }

  function read(filter: CostFilter, { rows, points }: { rows: number; points: number }) {
    const { where, values } = scopeOf(filter)
    const isOfTask = filter.of === 'turn' || filter.of === 'task'
    const latest = `SELECT ${listOf(parts)} FROM step_costs WHERE ${where} ORDER BY turn DESC, step DESC LIMIT 1`
    return {
      total: db
        .prepare(`SELECT ${sumsOf({ ...columns, ...parts, ...whole })} FROM ${tableOf(filter)} WHERE ${where}`)
        .get(...values),
      byModel: grouped(filter, ['model'], rows),
      byRevision: grouped(filter, ['agent', 'activation', 'revision'], rows),
      byTask: grouped(filter, ['agent', 'task'], rows),
      byTool: byTool(filter, rows),
      series: isOfTask ? bySteps(filter, points) : byTime(filter, points),
      latest: isOfTask ? db.prepare(latest).get(...values) : undefined,
      breaks: db
        .prepare(`SELECT seq, task, agent, turn, step, activation, revision, model, item, kind, what, before, after, since,
          since_revision AS sinceRevision, idle_ms AS idleMs, missed, missed_nano_usd AS missedNanoUsd,
          cost_nano_usd AS costNanoUsd FROM cache_breaks WHERE ${where} ORDER BY seq DESC LIMIT ?`)
        .all(...values, rows),
      repeats: repeats(filter, rows),
      troubled: db
        .prepare(`SELECT seq FROM troubled_calls WHERE ${where} ORDER BY seq DESC LIMIT ?`)
        .pluck()
        .all(...values, rows),
    }
  }

  return {
    cost: (filter: CostFilter, limits: { rows: number; points: number }) =>
      db.transaction(() => read(filter, limits))(),
    costBreak: (seq: number) =>
      db
        .prepare(
          'SELECT before, after FROM cache_breaks WHERE task = (SELECT task FROM events WHERE seq = ?) AND seq = ?',
        )
        .get(seq, seq),
  }
}

/** The first rows, and all others as one. */
function capped(rows: Row[], keys: readonly string[], limit: number): Row[] {
  const [first, rest] = [rows.slice(0, limit), rows.slice(limit)]
  if (rest[0] === undefined) return first
  const others: Row = { ...rest[0] }
  for (const row of rest.slice(1)) merge(others, row)
  for (const key of keys) if (key !== 'purpose') others[key] = typeof others[key] === 'string' ? '' : 0
  return [...first, { ...others, others: rest.length }]
}

const places = new Set(['turn', 'step', 'activation', 'seq', 'from'])

/** Adds the sums of a row; where both are not of one place, the sum is of none. */
function merge(into: Row, row: Row): void {
  for (const [name, value] of Object.entries(row)) {
    if (!places.has(name)) {
      if (typeof value === 'number') into[name] = Number(into[name]) + value
    } else if (name !== 'from' && into[name] !== value) into[name] = null
  }
}
