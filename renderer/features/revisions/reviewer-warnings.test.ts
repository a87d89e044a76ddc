import { expect, it } from 'vitest'
import type { ReviewerHealth } from '../../../kernel/wire/operator-review.ts'
import { warningsOf } from './reviewer-warnings.ts'

const health = (over: Partial<ReviewerHealth>): ReviewerHealth => ({
  ...{ days: 30, decisions: 12, byVerdict: { approved: 9, rejected: 3 }, byTier: [], medianOpenMs: 60_000 },
  ...{ medianMsPerChangedLine: 1500, approvedUnread: [], laterRolledBack: [], perHour: [{ at: 0, decisions: 4 }] },
  ...{ ruleHits: 0, expired: 0 },
  ...over,
})
const one = { agent: 'a', proposal: 'P-1' }

it('warns in plain words where reviews are no longer read, and of nothing else', () => {
  expect(warningsOf(health({}))).toEqual([])
  expect(warningsOf(health({ approvedUnread: [one] }))).toEqual(['You approved 1 of 9 without opening a file.'])
  expect(warningsOf(health({ medianMsPerChangedLine: 90 }))[0]).toMatch(/less than 90 ms a changed line/)
  expect(warningsOf(health({ medianMsPerChangedLine: 90, decisions: 2 }))).toEqual([])
  expect(warningsOf(health({ perHour: [{ at: 0, decisions: 25 }] }))[0]).toMatch(/25 decisions in one hour/)
  expect(warningsOf(health({ laterRolledBack: [{ ...one, reason: null }] }))[0]).toMatch(/1 of 9 .* rolled back/)
  expect(warningsOf(health({ decisions: 12, byVerdict: { approved: 12 } }))).toEqual([
    'You have turned nothing down in this time.',
  ])
})
