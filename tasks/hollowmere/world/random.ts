/** One step of mulberry32: a value in [0, 1) and the generator's next state (an unsigned 32-bit integer). */
export function draw(state: number): { value: number; next: number } {
  const next = (state + 0x6d2b79f5) >>> 0
  let t = next
  t = Math.imul(t ^ (t >>> 15), t | 1)
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
  return { value: ((t ^ (t >>> 14)) >>> 0) / 2 ** 32, next }
}

/** Spreads a seed over the 32-bit state, so that neighbouring seeds give unlike worlds. */
export function stateOfSeed(seed: number): number {
  const low = seed >>> 0
  const high = Math.floor(seed / 2 ** 32) >>> 0
  return (Math.imul(low ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(high, 0xc2b2ae35)) >>> 0
}

/** A stream of draws, for laying out a world once. */
export class Dice {
  private state: number

  constructor(seed: number) {
    this.state = stateOfSeed(seed)
  }

  /** An integer in [low, high]. */
  between(low: number, high: number): number {
    const { value, next } = draw(this.state)
    this.state = next
    return low + Math.floor(value * (high - low + 1))
  }

  /** One of `items`, which must not be empty. */
  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T
  }

  shuffle<T>(items: readonly T[]): T[] {
    const rest = [...items]
    const order: T[] = []
    while (rest.length > 0) order.push(...rest.splice(this.between(0, rest.length - 1), 1))
    return order
  }
}
