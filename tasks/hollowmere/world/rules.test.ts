import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameOf } from './frame.ts'
import { layOut, placesOf, skillNames, waysFrom } from './land.ts'
import { act, misuse } from './rules.ts'
import { begin, objectives, readState, type State } from './state.ts'

const seeds = fc.integer({ min: 0, max: 2 ** 40 })

/** Any actions, sensible or not, in the words of the seed's land. */
function actionsIn(seed: number): fc.Arbitrary<string[]> {
  const land = layOut(seed)
  const names = [...placesOf(land), ...land.trades.flatMap((trade) => [trade.resource, trade.tool]), 'nowhere']
  return fc.oneof(
    fc.constantFrom('look', 'map', 'skills', 'unload', 'rest', 'help').map((name) => [name]),
    fc.tuple(fc.constantFrom('go', 'gather', 'repair'), fc.constantFrom(...names)).map((pair) => [...pair]),
  )
}

const plays = seeds.chain((seed) => fc.tuple(fc.constant(seed), fc.array(actionsIn(seed), { maxLength: 80 })))

function play(state: State, actions: string[][]): State {
  return actions.reduce((now, args, i) => act(now, `k${i}`, args).state, state)
}

describe('the rules of hollowmere', () => {
  it('give the same state for the same seed and the same actions', () => {
    fc.assert(
      fc.property(plays, ([seed, actions]) => {
        const first = JSON.stringify(play(begin(seed, 'skills'), actions))
        expect(JSON.stringify(play(begin(seed, 'skills'), actions))).toBe(first)
      }),
    )
  })

  it('go on from a saved state as if it had never been saved', () => {
    fc.assert(
      fc.property(plays, fc.nat(80), ([seed, actions], cut) => {
        const whole = play(begin(seed, 'skills'), actions)
        const half = readState(JSON.stringify(play(begin(seed, 'skills'), actions.slice(0, cut))))
        const resumed = actions.slice(cut).reduce((now, args, i) => act(now, `k${cut + i}`, args).state, half)
        expect(resumed).toEqual(whole)
      }),
    )
  })

  it('change nothing but the count where they refuse, and never lower what is measured', () => {
    fc.assert(
      fc.property(plays, ([seed, actions]) => {
        let state = begin(seed, 'skills')
        for (const args of actions) {
          const { state: next, answer } = act(state, 'k', args)
          if (answer.code === 1) expect(next).toEqual({ ...state, count: state.count + 1, recent: next.recent })
          for (const skill of skillNames) expect(next.xp[skill]).toBeGreaterThanOrEqual(state.xp[skill])
          state = next
        }
      }),
    )
  })

  it('lead from every place back to camp', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const land = layOut(seed)
        for (const place of placesOf(land)) {
          for (const way of waysFrom(land, place)) expect(waysFrom(land, way)).toContain(place)
          const isNear = place === land.camp || waysFrom(land, place).some((way) => way === land.camp)
          const isFar = waysFrom(land, place).some((way) => waysFrom(land, way).includes(land.camp))
          expect(isNear || isFar).toBe(true)
        }
      }),
    )
  })

  it('give another land for another seed', () => {
    const lands = new Set(Array.from({ length: 50 }, (_, seed) => JSON.stringify(layOut(seed))))
    expect(lands.size).toBe(50)
  })

  it('name every action to whoever writes something that is none', () => {
    for (const args of [[], ['dance'], ['go'], ['go', 'a', 'b'], ['constructor'], ['look', '&&', 'rest']]) {
      for (const name of ['look', 'go PLACE', 'gather RESOURCE', 'repair TOOL'])
        expect(misuse(args)).toContain(`world ${name}`)
    }
    expect(misuse(['gather', 'slate'])).toBeNull()
  })

  it('refuse a state that this program did not write', () => {
    const state = begin(7, 'skills')
    const wrong = [
      'null',
      '[]',
      '{"version":2}',
      JSON.stringify({ ...state, objective: 'toString' }),
      JSON.stringify({ ...state, place: 'nowhere' }),
      JSON.stringify({ ...state, stamina: 10_000 }),
      JSON.stringify({ ...state, xp: { mining: 201, woodcutting: 0, fishing: 0 } }),
      JSON.stringify({ ...state, tools: null }),
      JSON.stringify({ ...state, recent: [null] }),
    ]
    for (const text of wrong) expect(() => readState(text)).toThrow()
  })

  it('draw a frame no wider than 72 columns, with the player in exactly one place', () => {
    fc.assert(
      fc.property(plays, ([seed, actions]) => {
        const frame = frameOf(play(begin(seed, 'skills'), actions))
        for (const line of frame.split('\n')) expect(line.length).toBeLessThanOrEqual(72)
        expect(frame.split('@').length).toBe(2)
      }),
    )
  })

  it('measure nothing at the start and know their own goal', () => {
    expect(objectives.skills?.(begin(7, 'skills'))).toEqual({ value: 0, unit: 'xp', goal: 600, done: false })
  })
})
