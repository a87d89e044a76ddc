import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { Fact, Knob, StaticDetails } from '../../wire/operator-checks.ts'
import type { FileFacts, KnobFact } from './facts/file-facts.ts'

/** A file of either side with what was read in it. */
export interface ReadFile {
  path: string
  text: string
  facts: FileFacts
}

export interface Delta {
  gained: StaticDetails['gained']
  lost: Fact[]
  knobs: Knob[]
  /** What hides, and did not before. */
  hiding: { path: string; line: number; what: string }[]
}

/** Counted over whole trees: what only moved from one file to another is neither gained nor lost. */
export function deltaOf(base: readonly ReadFile[], candidate: readonly ReadFile[]): Delta {
  const [before, after] = [capabilities(base), capabilities(candidate)]
  const known = new Set(before.map(keyOf))
  const gained = surplus(before, after).map((fact) => ({ ...fact, isNew: !known.has(keyOf(fact)) }))
  return {
    gained,
    lost: surplus(after, before),
    knobs: knobDelta(base, candidate),
    hiding: surplus(hidings(base), hidings(candidate)).map(({ path, line, what }) => ({ path, line, what })),
  }
}

/** @returns pairs of paths with what came of them; `text` null: the file is not on that side. */
export function changesOf(base: readonly TreeFile[], candidate: readonly TreeFile[]) {
  const before = new Map(base.map(({ path, text }) => [path, text]))
  const after = new Map(candidate.map(({ path, text }) => [path, text]))
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort()
    .map((path) => {
      const change = !before.has(path) ? 'added' : after.has(path) ? 'changed' : 'removed'
      return {
        path,
        change: change as 'added' | 'changed' | 'removed',
        before: before.get(path) ?? null,
        after: after.get(path) ?? null,
      }
    })
}

const keyOf = ({ kind, what }: { kind: string; what: string }): string => `${kind} ${what}`

function capabilities(files: readonly ReadFile[]): Fact[] {
  return files.flatMap(({ path, facts }) => facts.capabilities.map((one) => ({ ...one, path })))
}

function hidings(files: readonly ReadFile[]) {
  return files.flatMap(({ path, facts }) => facts.hiding.map((one) => ({ ...one, kind: 'hiding', path })))
}

/** Of `after`, what it has more often than `before`; in the files where it became more. */
function surplus<T extends { kind: string; what: string; path: string; line: number }>(
  before: readonly T[],
  after: readonly T[],
): T[] {
  const [had, has] = [grouped(before, keyOf), grouped(after, keyOf)]
  return [...has].flatMap(([key, now]) => {
    const then = had.get(key) ?? []
    const more = now.length - then.length
    if (more <= 0) return []
    const left = new Map<string, number>()
    for (const { path } of then) left.set(path, (left.get(path) ?? 0) + 1)
    const unmatched = now.filter(({ path }) => {
      const count = left.get(path) ?? 0
      left.set(path, count - 1)
      return count <= 0
    })
    return unmatched.slice(-more)
  })
}

function grouped<T>(all: readonly T[], by: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const group = groups.get(by(one))
    if (group === undefined) groups.set(by(one), [one])
    else group.push(one)
  }
  return groups
}

type Placed = KnobFact & { path: string }

function knobDelta(base: readonly ReadFile[], candidate: readonly ReadFile[]): Knob[] {
  const of = (files: readonly ReadFile[]): Placed[] =>
    files.flatMap(({ path, facts }) => facts.knobs.map((one) => ({ ...one, path })))
  let [before, after] = [of(base), of(candidate)]
  const paired: { before: Placed; after: Placed; how: Knob['how'] }[] = []
  // From the surest likeness to the least: what is the same in all is no change, whatever else it could be taken for.
  const likenesses: [how: Knob['how'], same: (one: Placed) => string][] = [
    ['changed', ({ path, name, unit, value }) => `${path} ${name} ${unit} ${value}`],
    ['moved', ({ name, unit, value }) => `${name} ${unit} ${value}`],
    ['changed', ({ path, name }) => `${path} ${name}`],
    ['moved', ({ name, unit }) => `${name} ${unit}`],
    ['renamed', ({ path, value }) => `${path} ${value}`],
    ['renamed', ({ path, unit }) => `${path} ${unit}`],
    ['moved', ({ unit, value }) => `${unit} ${value}`],
  ]
  for (const [how, same] of likenesses) {
    const waiting = grouped(before, same)
    after = after.filter((one) => {
      const twin = waiting.get(same(one))?.shift()
      if (twin === undefined) return true
      paired.push({ before: twin, after: one, how })
      return false
    })
    before = [...waiting.values()].flat()
  }
  const existed = new Set(base.map(({ path }) => path))
  const exists = new Set(candidate.map(({ path }) => path))
  return [
    ...paired
      .filter((pair) => pair.before.value !== pair.after.value)
      .map((pair) => ({
        ...knob(pair.after, pair.before.value, pair.after.value, pair.how),
        buysBudget: buys(pair.after, pair.before.value, pair.after.value),
      })),
    ...after
      .filter(({ value, isBound }) => value !== 'heeded' && isBound)
      .map((one) => ({
        ...knob(one, null, one.value, 'new'),
        // A bound that a new file brings along bounds what was not there.
        buysBudget: one.unit === 'effort' || (existed.has(one.path) && one.unit !== 'limit'),
      })),
    ...before
      .filter(({ path, isBound }) => exists.has(path) && isBound)
      .map((one) => ({ ...knob(one, one.value, null, 'removed'), buysBudget: one.unit !== 'effort' })),
  ]
}

function knob({ name, unit, path, line }: Placed, before: Knob['before'], after: Knob['after'], how: Knob['how']) {
  return { name, unit, before, after, path, line, how }
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'auto']

/** More turns, tokens, time or tries; asked more often. */
function buys({ unit }: Placed, before: number | string, after: number | string): boolean {
  if (typeof before === 'number' && typeof after === 'number')
    return unit === 'polling' ? after < before : after > before
  return efforts.indexOf(String(after)) > efforts.indexOf(String(before))
}
