import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frameOf } from './frame.ts'
import { layOut, masteryXp, placesOf, skillNames, waysFrom } from './land.ts'
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

/** What a sensible player does next; null once everything is mastered. */
function sensible(state: State): string[] | null {
  const land = layOut(state.seed)
  const trade = land.trades.find(({ skill }) => state.xp[skill] < masteryXp)
  if (!trade) return null
  if (state.place === land.camp) {
    if (state.bag > 0) return ['unload']
    if (state.stamina < land.staminaMax) return ['rest']
    if (state.tools[trade.skill] <= land.bagSize) return ['repair', trade.tool]
    return ['go', trade.via ?? trade.place]
  }
  const isSpent = state.bag === land.bagSize || state.tools[trade.skill] === 0 || state.stamina < land.gatherCost + 2
  if (state.place === trade.place && !isSpent) return ['gather', trade.resource]
  if (state.place === trade.via && state.bag === 0 && !isSpent) return ['go', trade.place]
  return ['go', waysFrom(land, state.place)[0] as string]
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

  it('can be won with any seed, one action a call, in 110 to 220 actions with answers of 60 to 240 characters', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        let state = begin(seed, 'skills')
        for (let args = sensible(state); args && state.count <= 220; args = sensible(state)) {
          const { state: next, answer } = act(state, `k${state.count}`, args)
          expect(answer).toMatchObject({ code: 0, text: expect.stringMatching(/^[^\n]+\n\[[a-z-]+\] stamina /) })
          expect(answer.text.length).toBeGreaterThanOrEqual(60)
          expect(answer.text.length).toBeLessThanOrEqual(240)
          state = next
        }
        expect(objectives.skills?.(state)).toMatchObject({ value: 600, done: true })
        expect(state.count).toBeGreaterThanOrEqual(110)
        expect(state.count).toBeLessThanOrEqual(220)
      }),
    )
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
