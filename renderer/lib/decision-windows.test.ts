import { expect, it } from 'vitest'
import type { DecisionTime } from '../../kernel/wire/operator-decision-time.ts'
import { windowLabel, windowRows, windowsText, windowText } from './decision-windows.ts'

const data: DecisionTime = {
  windowMs: 900_000,
  activeMs: 2_000_000,
  windows: [
    { fromMs: 0, decisions: 41, medianMs: 820, longestMs: 6400 },
    { fromMs: 900_000, decisions: 0, medianMs: null, longestMs: null },
    { fromMs: 1_800_000, decisions: 1, medianMs: 1500, longestMs: 1500 },
  ],
}

it('each window is named by its active minutes and says its median, its longest and of how many', () => {
  expect([0, 1, 2, 3].map((x) => windowLabel(data, x))).toEqual(['', '0 min', '15 min', '30 min'])
  expect([0, 1].map((index) => windowText(data, index))).toEqual([
    'active minutes 0–15: median 820 ms, longest 6.4 s, n = 41',
    'active minutes 15–30: no decision',
  ])
  expect(windowsText(data)).toBe(
    'Median time from input to the next action, by 15 minutes of active time: 1.5 s in the latest of 3, over 42 decisions in 33 m 20 s.',
  )
  expect(windowRows(data).rows[1]).toEqual([15, 0, null, null])
})
