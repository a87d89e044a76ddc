import type { ProposalDetail } from '../../../../kernel/wire/operator.ts'
import type { ClaimDetails, LeakageDetails, StaticDetails } from '../../../../kernel/wire/operator-checks.ts'
import type { ContextReplay, TapeReplay, TestsReport } from '../../../../kernel/wire/operator-replay.ts'

// Details of the checks that the desk knows how to show. Of an older or newer kernel they may be others: then as JSON.

type Details = ProposalDetail['checks'][number]['details']

function withLists<T>(details: Details, lists: readonly (keyof T & string)[]): T | null {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return null
  return lists.every((key) => Array.isArray(details[key])) ? (details as T) : null
}

export function staticOf(details: Details): StaticDetails | null {
  return withLists<StaticDetails>(details, ['problems', 'gained', 'lost', 'knobs', 'files'])
}

export function claimOf(details: Details): ClaimDetails | null {
  return withLists<ClaimDetails>(details, ['statements'])
}

export function leakageOf(details: Details): LeakageDetails | null {
  return withLists<LeakageDetails>(details, ['leaks'])
}

export function replayOf(details: Details): ContextReplay | null {
  const replay = withLists<ContextReplay>(details, ['steps', 'exceptions'])
  return replay && replay.estimated === true && replay.before && replay.after && replay.fidelity ? replay : null
}

export function tapeOf(details: Details): TapeReplay | null {
  const tape = withLists<TapeReplay>(details, [])
  return tape && typeof tape.matched === 'number' && typeof tape.recorded === 'number' ? tape : null
}

export function testsOf(details: Details): TestsReport | null {
  return withLists<TestsReport>(details, ['files', 'removed', 'changed'])
}

/** The check of that name, where it has reported. */
function checkOf(detail: Pick<ProposalDetail, 'checks'>, name: string): ProposalDetail['checks'][number] | null {
  return detail.checks.findLast((check) => check.check === name) ?? null
}

/** What it can do now that it could not before, in a few words; null: not measured. */
export function capabilityLine(detail: Pick<ProposalDetail, 'checks'>): { text: string; isGain: boolean } | null {
  const facts = staticOf(checkOf(detail, 'static')?.details ?? null)
  if (!facts) return null
  const gained = [...new Set(facts.gained.map(({ kind }) => kind))]
  const buys = facts.knobs.filter(({ buysBudget }) => buysBudget).length
  const words = [
    ...gained,
    ...(buys > 0 ? [`${buys} ${buys === 1 ? 'setting lets' : 'settings let'} it spend more`] : []),
  ]
  return { text: words.length > 0 ? words.join(', ') : 'none added', isGain: words.length > 0 }
}

/** What becomes of the stable beginning of its requests; null: not measured. */
export function prefixLine(detail: Pick<ProposalDetail, 'checks'>): { text: string; isBroken: boolean } | null {
  const check = checkOf(detail, 'context-replay')
  const replay = replayOf(check?.details ?? null)
  if (!replay) return null
  const { prefixBreak } = replay
  if (prefixBreak === null) return replay.steps.length === 0 ? null : { text: 'unchanged (estimate)', isBroken: false }
  const where = prefixBreak.kind === 'item' ? `item ${prefixBreak.index}` : prefixBreak.kind
  return { text: `CHANGED at ${where}, ${prefixBreak.at === 'activation' ? 'once' : 'at every step'}`, isBroken: true }
}

/** Whether it changes what tests it, by what the kernel tags as tests. */
export function touchesTests(detail: Pick<ProposalDetail, 'files'>): string[] | null {
  if (detail.files.every((file) => file.tags === undefined)) return null
  return detail.files.filter((file) => file.tags?.includes('test')).map(({ path }) => path)
}

/** Passed because there was nothing to look at: no tests, no statement that could be held against the change, no protected text. */
export function hadNothing({ check, verdict, details }: ProposalDetail['checks'][number]): boolean {
  if (verdict !== 'pass') return false
  if (check === 'tests') {
    const tests = testsOf(details)
    return tests !== null && tests.own === null && tests.files.length === 0
  }
  if (check === 'claim') return claimOf(details)?.statements.every(({ kind }) => kind === 'effect') ?? false
  return check === 'leakage' && leakageOf(details)?.protectedTexts === 0
}

const ranks = { fail: 0, unresolved: 1, pass: 2 } as const

/** What stands in the way first; otherwise in the order in which it was measured. */
export function blockingFirst<T extends { verdict: keyof typeof ranks }>(checks: readonly T[]): T[] {
  return checks.toSorted((a, b) => ranks[a.verdict] - ranks[b.verdict])
}
