import { describe, expect, it } from 'vitest'
import { createRandom } from '../random.ts'
import { withNoise } from './noise.ts'
import type { Item, PlayerDecision } from './player.ts'

const wanted: PlayerDecision = { text: 'on', toolCalls: [{ name: 'shell', arguments: { command: 'world go forest' } }] }
const request = (outputs: number) => ({
  model: 'sim',
  instructions: '',
  tools: [],
  seed: 1,
  items: Array.from({ length: outputs }, (_, n): Item[] => [
    { type: 'call', callId: `c${n}`, name: 'shell', arguments: '{"command":"world look"}' },
    { type: 'output', callId: `c${n}`, text: 'a place' },
  ]).flat(),
})
const play = (rate: number, outputs: number) => withNoise(() => wanted, rate)(request(outputs), createRandom('1'))

describe('a player that errs', () => {
  it('errs at its rate: a wrong command, or the last call again', () => {
    const decisions = Array.from({ length: 400 }, (_, outputs) => play(0.25, outputs + 1))
    const erring = decisions.filter((decision) => decision !== wanted).map(({ toolCalls }) => toolCalls?.[0]?.arguments)
    expect(erring.length).toBeGreaterThan(70)
    expect(erring.length).toBeLessThan(130)
    const kinds = new Set(erring.map((given) => JSON.stringify(given)))
    expect(kinds).toEqual(new Set(['{"command":"world go fores"}', JSON.stringify('{"command":"world look"}')]))
  })

  it('errs in the same decisions whenever it is asked, and never at rate 0', () => {
    for (let outputs = 0; outputs < 50; outputs += 1) {
      expect(play(0.5, outputs)).toEqual(play(0.5, outputs))
      expect(play(0, outputs)).toBe(wanted)
    }
  })
})
