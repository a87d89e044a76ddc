import type { EventData } from '../wire/events.ts'
import { breakOf, type CacheBreak, type PreviousCall, rentOf } from './cost-estimates.ts'
import { spendNames } from './spend.ts'
import type { Connection } from './sqlite.ts'
import { createSums } from './sums.ts'

/** Any time zone's midnight is the beginning of a slot. */
export const slotMs = 900_000
/** Tasks whose latest call is kept at hand. */
const tasksAtHand = 1_000

export interface CallPlace {
  seq: number
  at: number
  agent: string
  task: string
  turn: number | null
  /** null: between steps, or of a check. Nothing is then known of the call before. */
  step: number | null
  purpose: 'task' | 'check'
  activation: number
  revision: string
}

const callNames = [
  ...['simulated', 'estimated', 'cache_unreported'],
  ...['instructions', 'tool_definitions', 'memory', 'messages', 'tool_results'],
  ...['rent_instructions', 'rent_tools', 'rent_memory', 'rent_unknown'],
  ...['turns', 'breaks', 'missed', 'missed_nano_usd', 'missed_unknown'],
]
const names = [...spendNames, ...callNames]
/** What is split among a step's tool calls. */
const splitNames = ['uncached', 'cache_read', 'cache_write', 'output', 'reasoning', 'cost_nano_usd']
const splitIndexes = splitNames.map((name) => names.indexOf(name))
const unpricedIndex = names.indexOf('unpriced')
const stepKey = ['task', 'turn', 'step']
const stepFirst = ['agent', 'activation', 'revision', 'purpose']
const stepLatest = ['slot', 'model', 'seq', 'at', 'input', 'input_read', 'tool_names']

interface OpenStep {
  of: CallPlace
  slot: number
  latest: { model: string; seq: number; at: number; input: number; read: number }
  tools: Map<string, number>
  sums: number[]
  /** As it was shared out among tools so far. */
  shared: { sums: readonly number[]; tools: ReadonlyMap<string, number> } | null
}

/** What the cost screen reads. Written at `flush`, of which a commit has one. */
export function costTables(db: Connection) {
  const slots = createSums(db, {
    table: 'spend_slots',
    key: ['slot', 'agent', 'task', 'activation', 'revision', 'purpose', 'model'],
    sums: names,
  })
  const toolSlots = createSums(db, {
    table: 'tool_slots',
    key: ['slot', 'agent', 'task', 'purpose', 'name'],
    sums: ['tool_calls', ...splitNames, 'unpriced'],
  })
  const repeats = createSums(db, {
    table: 'repeats',
    key: ['task', 'name', 'arguments_hash', ...stepKey.slice(1)],
    sums: ['calls'],
  })
  const columns = [...stepKey, ...stepFirst, ...stepLatest, ...names]
  const run = {
    step: db.prepare(`SELECT ${columns.join(', ')} FROM step_costs WHERE task = ? AND turn = ? AND step = ?`),
    latest: db.prepare(`SELECT turn, step, seq, at, revision, input, input_read AS cacheRead FROM step_costs
      WHERE task = ? ORDER BY turn DESC, step DESC LIMIT 1`),
    setStep: db.prepare(`INSERT INTO step_costs (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
      ON CONFLICT DO UPDATE SET ${[...stepLatest, ...names].map((name) => `${name} = excluded.${name}`).join(', ')}`),
    break: db.prepare(`INSERT INTO cache_breaks (task, seq, slot, agent, turn, step, activation, revision, model,
      item, kind, what, before, after, since, since_revision, idle_ms, missed, missed_nano_usd, cost_nano_usd)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    dropEmpty:
      db.prepare(`DELETE FROM tool_slots WHERE slot = ? AND agent = ? AND task = ? AND purpose = ? AND name = ''
      AND ${[...splitNames, 'unpriced'].map((name) => `${name} = 0`).join(' AND ')}`),
    trouble: db.prepare('INSERT INTO troubled_calls (seq, slot, agent, task, turn) VALUES (?, ?, ?, ?, ?)'),
  }
  const open = new Map<string, OpenStep>()
  /** What no tool had, and one has now: where nothing is left of it there is no row, as if it had come in one commit. */
  const taken: (readonly [slot: number, agent: string, task: string, purpose: string])[] = []
  const latestOf = new Map<string, PreviousCall | null>()

  const keyOf = ({ task, turn, step }: CallPlace) => `${turn} ${step} ${task}`

  /** A step that has had a model call; undefined: there is none. */
  function openStep(of: CallPlace): OpenStep | undefined {
    if (of.step === null) return undefined
    const known = open.get(keyOf(of))
    if (known !== undefined) return known
    const row = run.step.get(of.task, of.turn, of.step) as Record<string, number | string> | undefined
    if (row === undefined) return undefined
    const tools = new Map(Object.entries(JSON.parse(row.tool_names as string) as Record<string, number>))
    const sums = names.map((name) => row[name] as number)
    const [slot, seq, at, input, read] = ['slot', 'seq', 'at', 'input', 'input_read'].map((name) => row[name] as number)
    const step: OpenStep = {
      of: { ...of, ...(row as Pick<CallPlace, 'agent' | 'activation' | 'revision' | 'purpose'>) },
      slot: slot as number,
      latest: { model: row.model as string, seq, at, input, read } as OpenStep['latest'],
      ...{ tools, sums, shared: { sums: [...sums], tools: new Map(tools) } },
    }
    open.set(keyOf(of), step)
    return step
  }

  function latestBefore(of: CallPlace): PreviousCall | null {
    if (of.step === null) return null
    if (!latestOf.has(of.task)) {
      if (latestOf.size >= tasksAtHand) latestOf.clear()
      for (const step of open.values()) if (step.of.task === of.task) note(step)
      const stored = run.latest.get(of.task) as PreviousCall | undefined
      const noted = latestOf.get(of.task)
      if (stored !== undefined && (noted === undefined || noted === null || isLater(stored, noted)))
        latestOf.set(of.task, stored)
      if (!latestOf.has(of.task)) latestOf.set(of.task, null)
    }
    return latestOf.get(of.task) ?? null
  }

  /** The call that the next one is compared with is that of the task's last step. */
  function note({ of, latest: { seq, at, input, read } }: OpenStep): void {
    const before = latestOf.get(of.task)
    const call = { turn: of.turn ?? 0, step: of.step ?? 0, seq, at, revision: of.revision, input, cacheRead: read }
    if (before === undefined || before === null || !isLater(before, call)) latestOf.set(of.task, call)
  }

  function share({ of, slot }: OpenStep, sums: readonly number[], tools: ReadonlyMap<string, number>, sign: 1 | -1) {
    for (const [name, part] of splitAmong(
      splitIndexes.map((index) => sums[index] ?? 0),
      tools,
    )) {
      const figures = [0, ...part.map((value) => sign * value), sign * (sums[unpricedIndex] ?? 0)]
      const place = [slot, of.agent, of.task, of.purpose] as const
      if (name === '' && figures.every((figure) => figure === 0)) continue
      if (name === '' && sign < 0) taken.push(place)
      toolSlots.add([...place, name], [], figures)
    }
  }

  function recordBreak(of: CallPlace, slot: number, found: CacheBreak, data: EventData<'model.called'>): void {
    const before = latestBefore(of)
    run.break.run(
      ...[of.task, of.seq, slot, of.agent, of.turn, of.step, of.activation, of.revision, data.model],
      ...[found.item, found.kind, found.what, found.before, found.after],
      ...[before?.seq ?? null, before?.revision ?? null, found.idleMs],
      ...[found.missed, found.missedNanoUsd, data.costNanoUsd],
    )
  }

  return {
    /** @param spend in the order of `spendNames`. */
    modelCalled(of: CallPlace, data: EventData<'model.called'>, spend: readonly number[]): void {
      const known = openStep(of)
      const slot = known?.slot ?? Math.floor(of.at / slotMs)
      const before = latestBefore(of)
      const found = breakOf(of, data, before)
      const isNewTurn = of.step !== null && before?.turn !== of.turn
      const sums = [...spend, ...callValues(data), isNewTurn ? 1 : 0, ...missedValues(found)]
      slots.add([slot, of.agent, of.task, of.activation, of.revision, of.purpose, data.model], [], sums)
      if (found !== null) recordBreak(of, slot, found, data)
      const [failed, unpriced] = ['failed', 'unpriced'].map((name) => sums[names.indexOf(name)] ?? 0)
      if (failed || unpriced || data.usageSource !== 'reported')
        run.trouble.run(of.seq, slot, of.agent, of.task, of.turn)
      const { uncached = 0, cacheRead = 0, cacheWrite = 0 } = data.usage ?? {}
      const latest = {
        model: data.model,
        seq: of.seq,
        at: of.at,
        input: uncached + cacheRead + cacheWrite,
        read: cacheRead,
      }
      const step: OpenStep = known ?? { of, slot, latest, tools: new Map(), sums: names.map(() => 0), shared: null }
      step.latest = latest
      step.sums = step.sums.map((sum, index) => sum + (sums[index] ?? 0))
      if (of.step === null) share(step, step.sums, step.tools, 1)
      else {
        open.set(keyOf(of), step)
        note(step)
      }
    },

    /** @param isRepeat the task has made this very call before. */
    toolCalled(of: CallPlace, name: string, argumentsHash: string, isRepeat: boolean): void {
      const step = openStep(of)
      const slot = step?.slot ?? Math.floor(of.at / slotMs)
      toolSlots.add([slot, of.agent, of.task, of.purpose, name], [], [1, ...splitNames.map(() => 0), 0])
      if (step === undefined) return
      step.tools.set(name, (step.tools.get(name) ?? 0) + 1)
      if (isRepeat) repeats.add([of.task, name, argumentsHash, of.turn, of.step], [], [1])
    },

    flush(): void {
      for (const step of open.values()) {
        const { of, slot, latest, tools, sums, shared } = step
        if (shared !== null) share(step, shared.sums, shared.tools, -1)
        share(step, sums, tools, 1)
        run.setStep.run(
          ...[of.task, of.turn, of.step, of.agent, of.activation, of.revision, of.purpose],
          ...[slot, latest.model, latest.seq, latest.at, latest.input, latest.read],
          JSON.stringify(Object.fromEntries(tools)),
          ...sums,
        )
      }
      open.clear()
      for (const table of [slots, toolSlots, repeats]) table.flush()
      for (const place of taken.splice(0)) run.dropEmpty.run(...place)
    },

    /** Forgets what is not written, and what it remembers of rows that were rolled back. */
    reset(): void {
      open.clear()
      latestOf.clear()
      taken.length = 0
      for (const table of [slots, toolSlots, repeats]) table.clear()
    },
  }
}

function isLater(a: PreviousCall, b: PreviousCall): boolean {
  return a.turn > b.turn || (a.turn === b.turn && a.step > b.step)
}

/**
 * Each value in equal parts to each call, in order of names, so that the parts add up to the whole to the last unit.
 * Without a call all of it goes to ''.
 */
export function splitAmong(whole: readonly number[], calls: ReadonlyMap<string, number>): Map<string, number[]> {
  const counts = calls.size === 0 ? ([['', 1]] as const) : [...calls].sort(([a], [b]) => (a < b ? -1 : 1))
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const found = new Map<string, number[]>()
  let from = 0
  for (const [name, count] of counts) {
    const [begin, end] = [from, from + count]
    const part = (value: number) => Math.floor((value * end) / all) - Math.floor((value * begin) / all)
    found.set(name, whole.map(part))
    from = end
  }
  return found
}

/** In the order of `callNames`, up to the rent. */
function callValues(data: EventData<'model.called'>): number[] {
  const { instructions, tools, memory = 0, messages, toolResults } = data.composition
  const rent = rentOf(data)
  return [
    data.simulated ? 1 : 0,
    data.usageSource === 'reported' ? 0 : 1,
    // An older event does not say whether it was.
    data.usageSource === 'reported' && data.cacheReported === false ? 1 : 0,
    ...[instructions, tools, memory, messages, toolResults],
    ...(rent === null ? [0, 0, 0, 1] : [rent.instructions, rent.tools, rent.memory, 0]),
  ]
}

function missedValues(found: CacheBreak | null): number[] {
  if (found === null) return [0, 0, 0, 0]
  return [1, found.missed ?? 0, found.missedNanoUsd ?? 0, found.missedNanoUsd === null ? 1 : 0]
}
