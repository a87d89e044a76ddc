import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { EventData } from '../../wire/events.ts'
import type { GuardianParts } from '../core.ts'
import type { CheckRecord } from '../state.ts'

/** What a check looks at: the stored candidate and the revision it is to replace. */
export interface Candidate {
  agent: string
  proposal: string
  revision: string
  files: readonly TreeFile[]
  base: readonly TreeFile[]
  /** Hash of `base`. */
  baseRevision: string
  /** In the words of whoever proposes it. */
  claim: string
  why: string
  expects: string | null
  by: 'executor' | 'operator'
  /** Every revision that this agent was ever allowed to run. */
  authorised: readonly string[]
  /** What the checks before this one have found. */
  checks: readonly CheckRecord[]
  /** Earlier proposals of the same content (`isSame`), or of the same change but for layout and comments, that the operator rejected or a probation threw out. */
  recurrences: readonly { proposal: string; state: string; reason: string | null; isSame: boolean }[]
  /** Of this check, as the profile has them. */
  thresholds: Readonly<Record<string, number>>
}

export interface CheckOutcome {
  verdict: EventData<'proposal.checked'>['verdict']
  /** One plain sentence; where it did not pass, with what to do. */
  summary: string
  details: EventData<'proposal.checked'>['details']
  /** Where there is nothing yet that it could be decided by: then it is shown, and holds nothing up. */
  gates?: false
}

/** One check of a profile. `unresolved` says that it could not be decided, and is never a pass. */
export interface Check {
  name: string
  /** One plain sentence: what it looks at. */
  description: string
  /**
   * Unless the profile says otherwise. True: `fail` ends the proposal and `unresolved` needs an override.
   * False: it is shown, and decides nothing.
   */
  gates: boolean
  /** Numbers that a person may set in the profile, with their defaults; `{}`: it has none. */
  thresholds: Readonly<Record<string, number>>
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
  const named = (isSame: boolean) =>
    earlier
      .filter((one) => one.isSame === isSame)
      .map(({ proposal, state, reason }) => `${proposal}, which was ${state}${reason ? ` (${reason})` : ''}`)
      .join(' and ')
  const [same, alike] = [named(true), named(false)]
  const parts = [
    ...(same === '' ? [] : [`the same content as ${same}`]),
    ...(alike === '' ? [] : [`the same change, but for layout and comments, as ${alike}`]),
  ]
  return parts.length === 0 ? null : parts.join('; and ')
}
