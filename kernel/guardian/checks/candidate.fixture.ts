import type { Candidate } from './check.ts'

/** A candidate of which a test says only what it is about. */
export function candidateOf(given: Partial<Candidate>): Candidate {
  return {
    agent: 'apprentice',
    proposal: 'P-1',
    revision: '',
    files: [],
    base: [],
    baseRevision: '',
    claim: 'it is better',
    why: 'it was seen',
    expects: null,
    by: 'executor',
    authorised: [],
    checks: [],
    recurrences: [],
    thresholds: {},
    ...given,
  }
}
