import { type Land, layOut, masteryXp, placesOf, type Skill, skillNames } from './land.ts'
import { stateOfSeed } from './random.ts'

/** What an action answered; `code` is the client's exit code: 0 done, 1 refused by the rules, 2 not an action. */
export interface Answer {
  text: string
  code: 0 | 1 | 2
}

/** The whole world at one moment. Same seed and same actions: the same state, byte for byte as JSON. */
export interface State {
  version: 1
  seed: number
  objective: string
  /** Actions taken so far, refused ones too. */
  count: number
  luck: number
  place: string
  stamina: number
  bag: number
  /** Goods unloaded at camp. */
  stored: number
  /** Gatherings left in the tool of each skill. */
  tools: Record<Skill, number>
  xp: Record<Skill, number>
  /** Answers to the latest keyed actions, oldest first: a client that lost its answer asks again and nothing happens twice. */
  recent: { key: string; answer: Answer }[]
}

/** How many answers `recent` keeps. */
export const recentLimit = 64

export interface Measure {
  value: number
  unit: string
  goal: number
  done: boolean
}

/** What can be asked of a player, by name. */
export const objectives: Record<string, (state: State) => Measure> = {
  skills(state) {
    const value = skillNames.reduce((sum, skill) => sum + state.xp[skill], 0)
    const goal = masteryXp * skillNames.length
    return { value, unit: 'xp', goal, done: value >= goal }
  },
}

/** @throws Error when the objective is unknown or the seed is not a whole number from 0. */
export function begin(seed: number, objective: string): State {
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('seed must be a whole number, 0 or more')
  if (!Object.hasOwn(objectives, objective)) {
    throw new Error(`no objective "${objective}"; there are: ${Object.keys(objectives).join(', ')}`)
  }
  const land = layOut(seed)
  const each = (value: number): Record<Skill, number> => ({ mining: value, woodcutting: value, fishing: value })
  return {
    version: 1,
    seed,
    objective,
    count: 0,
    luck: stateOfSeed(seed + 1),
    place: land.camp,
    stamina: land.staminaMax,
    bag: 0,
    stored: 0,
    tools: each(land.toolLife),
    xp: each(0),
    recent: [],
  }
}

/** The state in a text that `save` gave. @throws Error that names the first thing wrong with it. */
export function stateIn(save: string): State {
  const raw = JSON.parse(save) as { state?: unknown } | null
  return readState(JSON.stringify(raw?.state ?? null))
}

/** Reads a state that `JSON.stringify` wrote. @throws Error that names the first thing wrong with it. */
export function readState(text: string): State {
  const raw: unknown = JSON.parse(text)
  if (typeof raw !== 'object' || raw === null) throw new Error('a saved state is a JSON object')
  const state = raw as State
  if (state.version !== 1) throw new Error(`saved state has version ${String(state.version)}; this program reads 1`)
  const fresh = begin(state.seed, state.objective)
  const land = layOut(state.seed)
  for (const key of Object.keys(fresh)) if (!Object.hasOwn(state, key)) throw new Error(`saved state lacks ${key}`)
  if (!placesOf(land).includes(state.place)) throw new Error('saved state is at a place that this seed does not have')
  for (const [name, value, high] of bounds(state, land)) {
    if (!Number.isSafeInteger(value) || value < 0 || value > high) throw new Error(`saved state has a wrong ${name}`)
  }
  if (!Array.isArray(state.recent) || state.recent.length > recentLimit || !state.recent.every(isRecent)) {
    throw new Error('saved state has wrong recent answers')
  }
  return state
}

function bounds(state: State, land: Land): [name: string, value: number, high: number][] {
  return [
    ['count', state.count, Number.MAX_SAFE_INTEGER],
    ['luck', state.luck, 2 ** 32 - 1],
    ['stamina', state.stamina, land.staminaMax],
    ['bag', state.bag, land.bagSize],
    ['stored', state.stored, Number.MAX_SAFE_INTEGER],
    ...skillNames.flatMap((skill): [string, number, number][] => [
      [`tool of ${skill}`, state.tools?.[skill], land.toolLife],
      [`${skill} xp`, state.xp?.[skill], masteryXp],
    ]),
  ]
}

function isRecent(entry: State['recent'][number] | null): boolean {
  return (
    typeof entry?.key === 'string' && typeof entry.answer?.text === 'string' && [0, 1, 2].includes(entry.answer.code)
  )
}
