import type { ReadFile } from './delta.ts'
import { type CallFact, modelCall } from './facts/file-facts.ts'
import { isTest } from './facts/tests.ts'

const most = 1_000_000

/**
 * How many calls of the model lie on the ways through a program, each loop and each call of itself counting once more: a
 * figure to compare two programs by. A function that is taken apart, or moved, leaves it as it is.
 */
export function modelCallsOf(files: readonly ReadFile[]): number {
  const byPlace = new Map<string, CallFact[]>()
  for (const { path, facts } of files)
    for (const call of isTest(path) ? [] : facts.calls) byPlace.set(call.in, [...(byPlace.get(call.in) ?? []), call])
  const known = new Map<string, number>()
  const open = new Set<string>()
  const weight = (place: string): number => {
    if (place === modelCall) return 1
    const before = known.get(place)
    if (before !== undefined) return before
    open.add(place)
    const calls = byPlace.get(place) ?? []
    const sum = calls.reduce((sum, { of, loops }) => sum + (open.has(of) ? 0 : (1 + loops) * weight(of)), 0)
    const again = calls.filter(({ of }) => open.has(of)).reduce((sum, { loops }) => sum + 1 + loops, 0)
    open.delete(place)
    const found = Math.min(most, sum * (1 + again))
    known.set(place, found)
    return found
  }
  const called = new Set(
    [...byPlace].flatMap(([place, calls]) => calls.flatMap(({ of }) => (of === place ? [] : [of]))),
  )
  const all = [...byPlace.keys()].map((place) => ({ weight: weight(place), isRoot: !called.has(place) }))
  const roots = all.reduce((sum, one) => sum + (one.isRoot ? one.weight : 0), 0)
  return Math.min(most, Math.max(roots, ...all.map((one) => one.weight)))
}

/** Where the candidate asks for it, of what it did not have before. */
export function modelCallPlace(
  base: readonly ReadFile[],
  candidate: readonly ReadFile[],
): { path: string; line: number } {
  const before = new Map(base.map(({ path, text }) => [path, text]))
  const changed = candidate.filter(({ path, text }) => before.get(path) !== text && !isTest(path))
  const direct = changed.find(({ facts }) => facts.calls.some(({ of }) => of === modelCall)) ?? changed[0]
  const line = direct?.facts.calls.find(({ of }) => of === modelCall)?.line ?? 1
  return { path: direct?.path ?? 'main.ts', line }
}
