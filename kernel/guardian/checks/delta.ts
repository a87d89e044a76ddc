import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { Fact, Knob, StaticDetails } from '../../wire/operator-checks.ts'
import type { FileFacts, KnobFact } from './facts/file-facts.ts'
import { isTest } from './facts/tests.ts'
import { modelCallPlace, modelCallsOf } from './model-calls.ts'

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
  const placed = new Set(before.map((fact) => `${fact.path} ${keyOf(fact)}`))
  const were = new Set(base.map(({ path }) => path))
  // What a file that was there reaches for as none of its own is new to it, whoever else does so.
  const isNew = (fact: Fact) =>
    !known.has(keyOf(fact)) ||
    (/^(?:wire|exec)$/.test(fact.kind) && were.has(fact.path) && !placed.has(`${fact.path} ${keyOf(fact)}`))
  const gained = surplus(before, after).map((fact) => ({ ...fact, isNew: isNew(fact) }))
  return {
    gained,
    lost: surplus(after, before),
    knobs: [...modelCallDelta(base, candidate), ...knobDelta(base, candidate)],
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

export const modelCallsKnob = 'model calls'

/** Fewer may be the way it is written; more are more. */
function modelCallDelta(base: readonly ReadFile[], candidate: readonly ReadFile[]): Knob[] {
  const [before, after] = [modelCallsOf(base), modelCallsOf(candidate)]
  if (after <= before) return []
  const place = modelCallPlace(base, candidate)
  return [{ name: modelCallsKnob, unit: 'turns', before, after, ...place, how: 'changed', buysBudget: true }]
}

type Placed = KnobFact & { path: string }

function knobDelta(base: readonly ReadFile[], candidate: readonly ReadFile[]): Knob[] {
  const of = (files: readonly ReadFile[]): Placed[] =>
    // What a test waits for or tries is no budget of the policy's.
    files.flatMap(({ path, facts }) => (isTest(path) ? [] : facts.knobs.map((one) => ({ ...one, path }))))
  let [before, after] = [of(base), of(candidate)]
  const paired: { before: Placed; after: Placed; how: Knob['how'] }[] = []
  // From the surest likeness to the least: what is the same in all is no change, whatever else it could be taken for.
  const likenesses: [how: Knob['how'], same: (one: Placed) => string][] = [
    ['changed', ({ path, name, unit, value }) => `${path} ${name} ${unit} ${value}`],
    ['moved', ({ name, unit, value }) => `${name} ${unit} ${value}`],
    ['changed', (one) => `${one.path} ${one.name} ${toldOf(one)}`],
    ['moved', (one) => `${one.name} ${one.unit} ${toldOf(one)}`],
    ['renamed', (one) => `${one.path} ${one.value} ${toldOf(one)}`],
    ['renamed', (one) => `${one.path} ${one.unit} ${toldOf(one)}`],
    ['moved', (one) => `${one.unit} ${one.value} ${toldOf(one)}`],
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
  // A constant that a new part has for itself, as the old one has it, is no more than before.
  const [had, has] = [of(base), of(candidate)].map((all) => grouped(all, sameIn))
  const isCopy = (one: Placed) =>
    base.some(({ path }) => (had?.get(sameIn({ ...one, path }))?.length ?? 0) >= (has?.get(sameIn(one))?.length ?? 0))
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
      .filter((one) => one.value !== 'heeded' && one.value !== 'kept' && one.isBound && !isCopy(one))
      .map((one) => ({
        ...knob(one, null, one.value, 'new'),
        // A bound that a new file brings along bounds what was not there.
        buysBudget:
          one.unit === 'effort' ||
          one.name.startsWith('request.') ||
          one.value === 'loosened' ||
          one.name === 'model' ||
          (existed.has(one.path) && one.unit !== 'limit' && one.unit !== 'notice'),
      })),
    ...before
      // What bounds a file goes with it; what the kernel tells of holds wherever it is asked for.
      .filter(({ path, value, isBound }) => (exists.has(path) || value === 'heeded') && isBound)
      .map((one) => ({ ...knob(one, one.value, null, 'removed'), buysBudget: one.unit !== 'effort' })),
  ]
}

/** A limit of the kernel's stands for itself alone, and for no number. */
const toldOf = ({ name, value }: Placed): string => (/^(?:heeded|loosened|kept)$/.test(String(value)) ? name : '')
const sameIn = ({ path, name, unit, value }: Placed): string => `${path} ${name} ${unit} ${value}`

function knob({ name, unit, path, line }: Placed, before: Knob['before'], after: Knob['after'], how: Knob['how']) {
  return { name, unit, before, after, path, line, how }
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'auto']

/** More turns, tokens, time or tries; asked more often. */
function buys({ unit }: Placed, before: number | string, after: number | string): boolean {
  if (typeof before === 'number' && typeof after === 'number')
    return unit === 'polling' || unit === 'notice' ? after < before : after > before
  if (before === 'heeded' || after === 'loosened') return true
  // One that is not known may be any.
  return !efforts.includes(String(after)) || efforts.indexOf(String(after)) > efforts.indexOf(String(before))
}
