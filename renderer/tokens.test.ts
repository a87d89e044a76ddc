// The tokens of every look: what may be read on what, and which statuses are told apart.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contrast, difference, type Vision } from './dev/colour.ts'

type Tokens = Record<string, string>

const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8')

/** Colours of one block: [light, dark]. */
function blockOf(selector: string): Record<string, [string, string]> {
  const body = css.split(`\n${selector} {`)[1]?.split('\n}')[0]
  if (body === undefined) throw new Error(`tokens.css has no block ${selector}`)
  const found: Record<string, [string, string]> = {}
  for (const [, name = '', light = '', dark = ''] of body.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g))
    found[name] = [light, dark]
  for (const [, name = '', both = ''] of body.matchAll(/--([\w-]+): (#\w{6});/g)) found[name] = [both, both]
  return found
}

const usual = blockOf(':root')
const safe = blockOf(':root[data-colours="safe"]')
const more = blockOf(':root[data-contrast="more"]')
const looks: [name: string, tokens: Tokens, text: number, edge: number][] = (['light', 'dark'] as const).flatMap(
  (mode, at) => {
    const of = (...blocks: Record<string, [string, string]>[]): Tokens =>
      Object.fromEntries(blocks.flatMap((block) => Object.entries(block).map(([name, pair]) => [name, pair[at] ?? ''])))
    return [
      [mode, of(usual), 4.5, 3],
      [`${mode}, safe colours`, of(usual, safe), 4.5, 3],
      [`${mode}, more contrast`, of(usual, more), 7, 4.5],
      [`${mode}, safe colours and more contrast`, of(usual, safe, more), 7, 4.5],
    ] satisfies [string, Tokens, number, number][]
  },
)

const grounds = ['bg', 'surface', 'raised', 'inset', 'hover', 'selected']
const inks = ['text', 'muted', 'accent', 'run', 'wait', 'ok', 'bad', 'stale', 'added', 'removed']
const fills = ['wait', 'bad', 'ok', 'run']
const pairs: [ink: string, ground: string][] = [
  ...grounds.flatMap((ground) => inks.map((ink): [string, string] => [ink, ground])),
  ...fills.flatMap((name): [string, string][] => [
    [name, `${name}-fill`],
    ['text', `${name}-fill`],
  ]),
  ['on-accent', 'accent-fill'],
  // The count in the rail and the chip of what the kernel keeps.
  ['surface', 'wait'],
  ['surface', 'text'],
]

describe.each(looks)('%s', (_name, tokens, text, edge) => {
  const of = (name: string): string => tokens[name] ?? ''

  it('has every colour', () => {
    const names = [...new Set([...pairs.flat(), 'border-strong', 'token-read', 'token-write', 'token-uncached'])]
    expect(names.filter((name) => !/^#\w{6}$/.test(of(name)))).toEqual([])
  })

  it('can be read wherever text stands', () => {
    const bad = pairs.filter(([ink, ground]) => contrast(of(ink), of(ground)) < text)
    expect(bad.map(([ink, ground]) => `${ink} on ${ground}: ${contrast(of(ink), of(ground)).toFixed(2)}`)).toEqual([])
  })

  it('shows the edges of what can be worked, and where the focus is', () => {
    const edges = ['border-strong', 'accent'].flatMap((ink) =>
      ['bg', 'surface', 'raised'].map((g) => [ink, g] as const),
    )
    const bad = edges.filter(([ink, ground]) => contrast(of(ink), of(ground)) < edge)
    expect(bad.map(([ink, ground]) => `${ink} on ${ground}: ${contrast(of(ink), of(ground)).toFixed(2)}`)).toEqual([])
  })

  it('tells the buckets of input tokens apart by lightness, the uncached cap most', () => {
    const steps = ['token-read', 'token-write', 'token-uncached'].map((name) => contrast(of(name), of('surface')))
    expect(steps).toEqual(steps.toSorted((a, b) => a - b))
    expect(contrast(of('token-uncached'), of('token-write'))).toBeGreaterThan(2)
    expect(contrast(of('token-write'), of('token-read'))).toBeGreaterThan(1.5)
  })
})

const visions: Vision[] = ['full', 'no red', 'no green', 'no blue']
describe.each(looks.filter(([name]) => /safe|more/.test(name)))('%s', (_name, tokens) => {
  it.each(visions)('tells the statuses apart with %s', (vision) => {
    const statuses = ['run', 'wait', 'ok', 'bad', 'stale']
    const near = statuses.flatMap((one, at) =>
      statuses
        .slice(at + 1)
        .map((other) => ({ one, other, far: difference(tokens[one] ?? '', tokens[other] ?? '', vision) }))
        .filter(({ far }) => far < 12),
    )
    expect(near).toEqual([])
    expect(difference(tokens.added ?? '', tokens.removed ?? '', vision)).toBeGreaterThan(12)
  })
})

it('a contrast is what WCAG says it is', () => {
  expect(contrast('#000000', '#ffffff')).toBe(21)
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
  expect(difference('#ff0000', '#ff0000', 'no green')).toBe(0)
})
