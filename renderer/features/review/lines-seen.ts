/** Lines that were on the screen, as sorted ranges that do not touch. 1-based, both ends in. */
export type Ranges = readonly (readonly [from: number, to: number])[]

export function addRange(ranges: Ranges, from: number, to: number): Ranges {
  if (to < from || covers(ranges, from, to)) return ranges
  const before = ranges.filter((range) => range[1] < from - 1)
  const after = ranges.filter((range) => range[0] > to + 1)
  const touching = ranges.slice(before.length, ranges.length - after.length)
  const merged = [
    Math.min(from, ...touching.map((range) => range[0])),
    Math.max(to, ...touching.map((range) => range[1])),
  ] as const
  return [...before, merged, ...after]
}

export function covers(ranges: Ranges, from: number, to: number): boolean {
  return ranges.some((range) => range[0] <= from && range[1] >= to)
}

/** How many of the lines from one to the other were on the screen. */
export function seenOf(ranges: Ranges, from: number, to: number): number {
  return ranges.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from) + 1), 0)
}
