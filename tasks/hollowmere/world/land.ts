import { Dice } from './random.ts'

export const skillNames = ['mining', 'woodcutting', 'fishing'] as const
export type Skill = (typeof skillNames)[number]

/** Where a skill is trained, on what, and with which tool. */
export interface Trade {
  skill: Skill
  resource: string
  tool: string
  place: string
  /** A place between camp and `place`, or null where a path leads there directly. */
  via: string | null
}

/** All that a seed fixes for good. Derived, never stored: the same seed always gives the same land. */
export interface Land {
  camp: string
  trades: Trade[]
  bagSize: number
  staminaMax: number
  /** Stamina that one gathering takes; a walk takes 1. */
  gatherCost: number
  /** Gatherings that a tool lasts for. */
  toolLife: number
  /** Share of gatherings that fail. */
  missShare: number
  /** Xp of a successful gathering at level 1; each level adds 1, and luck adds -1, 0 or 1. */
  xpBase: number
  /** Xp at which levels 2, 3, … begin; the last is `masteryXp`. */
  levelXp: number[]
}

/** Xp at which a skill is mastered and yields no more. The same for all seeds: it defines the goal. */
export const masteryXp = 200

const names = {
  camp: ['hearth', 'lodge', 'croft', 'bothy', 'cairn-camp'],
  via: ['long-stile', 'stone-ford', 'high-gate', 'old-bridge', 'drovers-way'],
  mining: {
    place: ['old-adit', 'tin-delve', 'black-level', 'quarry-end'],
    resource: ['slate', 'tin', 'coal', 'copper'],
    tool: ['pick', 'mattock'],
  },
  woodcutting: {
    place: ['long-wood', 'ash-holt', 'dark-copse', 'kings-spinney'],
    resource: ['oak', 'ash', 'larch', 'yew'],
    tool: ['axe', 'saw'],
  },
  fishing: {
    place: ['grey-tarn', 'mill-pool', 'reed-mere', 'heron-bay'],
    resource: ['perch', 'trout', 'pike', 'char'],
    tool: ['rod', 'net'],
  },
} as const

export function layOut(seed: number): Land {
  const dice = new Dice(seed)
  const vias = dice.shuffle(names.via)
  // At least one place is two walks away and at least one is not, so that a path must be read, not guessed.
  const isFar = dice.shuffle([true, false, dice.between(0, 1) === 1])
  const trades = dice.shuffle(skillNames).map((skill, i): Trade => {
    const { place, resource, tool } = names[skill]
    return {
      skill,
      resource: dice.pick(resource),
      tool: dice.pick(tool),
      place: dice.pick(place),
      via: isFar[i] ? (vias[i] ?? null) : null,
    }
  })
  const bagSize = dice.between(2, 4)
  const gatherCost = dice.between(2, 3)
  const bend = dice.between(12, 18) / 10
  return {
    camp: dice.pick(names.camp),
    trades,
    bagSize,
    gatherCost,
    staminaMax: 4 + gatherCost * (bagSize + dice.between(1, 2)),
    toolLife: bagSize * 2 + dice.between(1, 2),
    missShare: dice.between(6, 14) / 100,
    // A smaller bag means more trips; its finds teach more, so that all seeds are about equally long.
    xpBase: 16 - 2 * bagSize + dice.between(0, 1),
    levelXp: [1, 2, 3, 4, 5].map((n) => Math.round(masteryXp * (n / 5) ** bend)),
  }
}

/** Places that one walk leads to from `place`, in a fixed order. */
export function waysFrom(land: Land, place: string): string[] {
  if (place === land.camp) return land.trades.map((trade) => trade.via ?? trade.place)
  const trade = land.trades.find((t) => t.place === place || t.via === place)
  if (!trade) return []
  if (place === trade.via) return [land.camp, trade.place]
  return [trade.via ?? land.camp]
}

export function placesOf(land: Land): string[] {
  return [land.camp, ...land.trades.flatMap((trade) => (trade.via ? [trade.via, trade.place] : [trade.place]))]
}

export function levelAt(land: Land, xp: number): number {
  return 1 + land.levelXp.filter((bound) => xp >= bound).length
}
