import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { EventData } from '../../wire/events.ts'
import type { GuardianParts } from '../core.ts'

/** What a check looks at: the stored candidate and the revision it is to replace. */
export interface Candidate {
  agent: string
  proposal: string
  revision: string
  files: readonly TreeFile[]
  base: readonly TreeFile[]
  /** Earlier proposals of the same content that the operator rejected or a probation threw out. */
  recurrences: readonly { proposal: string; state: string; reason: string | null }[]
}

export interface CheckOutcome {
  verdict: EventData<'proposal.checked'>['verdict']
  /** One plain sentence; where it did not pass, with what to do. */
  summary: string
  details: EventData<'proposal.checked'>['details']
}

/** One gate. `unresolved` says that it could not be decided, and is never a pass. */
export interface Check {
  name: string
  /** Raised with every change of what it demands: it is part of the profile's hash. */
  rules: unknown
  run(candidate: Candidate, parts: GuardianParts, signal: AbortSignal): Promise<CheckOutcome>
}

export const pass = (summary: string, details: CheckOutcome['details'] = {}): CheckOutcome => ({
  verdict: 'pass',
  summary,
  details,
})
export const fail = (summary: string, details: CheckOutcome['details'] = {}): CheckOutcome => ({
  verdict: 'fail',
  summary,
  details,
})
export const unresolved = (summary: string, details: CheckOutcome['details'] = {}): CheckOutcome => ({
  verdict: 'unresolved',
  summary,
  details,
})

/** Earlier proposals of the same content in words, with why they were turned down; null: there is none. */
export function recurrenceOf(earlier: Candidate['recurrences']): string | null {
  if (earlier.length === 0) return null
  const named = earlier.map(({ proposal, state, reason }) => {
    return `${proposal}, which was ${state}${reason ? ` (${reason})` : ''}`
  })
  return `the same content as ${named.join(' and ')}`
}
