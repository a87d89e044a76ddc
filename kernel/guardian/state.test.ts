import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event, EventData, EventKind } from '../wire/events.ts'
import type { ProposalState } from '../wire/executor.ts'
import { type AgentState, advance, newAgent, proposalOf } from './state.ts'

const [base, revision] = ['a'.repeat(64), 'b'.repeat(64)]
const binding = { revision, base, checks: 'c'.repeat(64), profile: 'd'.repeat(64) }
const day = 86_400_000

function event<K extends EventKind>(kind: K, data: EventData<K>, at = 0): Event {
  const place = { agent: 'a', task: null, run: null, generation: null, turn: null, step: null, revision: null }
  return { seq: 1, at, actor: 'kernel', ...place, kind, data, prevHash: '', hash: '' } as unknown as Event
}

const made = (proposal = 'P-1', derived?: EventData<'proposal.made'>['derived']) =>
  event('proposal.made', {
    ...{ proposal, revision, base, claim: 'c', why: 'w', evidence: [], expects: null, by: 'executor' },
    ...{ files: [], sizeBytes: 1, problems: [], ...(derived === undefined ? {} : { derived }) },
  })
const checked = (verdict: 'pass' | 'fail' | 'unresolved', gates?: boolean) =>
  event('proposal.checked', {
    ...{ proposal: 'P-1', check: 'boot', verdict, summary: 's', details: {}, durationMs: 1 },
    ...(gates === undefined ? {} : { gates }),
  })
const reviewed = (
  verdict: EventData<'proposal.reviewed'>['verdict'],
  more: Partial<EventData<'proposal.reviewed'>> = {},
) =>
  event('proposal.reviewed', {
    ...{ proposal: 'P-1', verdict, reason: 'so', by: 'operator', binding, viewedMs: null },
    ...more,
  })
const activated = (probationSteps: number) =>
  event('revision.activated', {
    ...{ activation: 2, revision, previous: base, cause: 'proposal', proposal: 'P-1', probationSteps },
  })
const first = event('revision.activated', {
  ...{ activation: 1, revision: base, previous: null, cause: 'seed', proposal: null, probationSteps: 0 },
})
const at = (activation: number, of: string) => ({ activation, revision: of })

const events = {
  'passed check': checked('pass', true),
  'failed check': checked('fail', true),
  'undecided check': checked('unresolved', true),
  'failed check that does not gate': checked('fail', false),
  'undecided check that does not gate': checked('unresolved', false),
  'undecided check of an older history': checked('unresolved'),
  readied: event('proposal.readied', { proposal: 'P-1', risk: 'LOW', reasons: [], expiresAt: 7 * day }),
  approved: reviewed('approved'),
  rejected: reviewed('rejected'),
  returned: reviewed('returned'),
  deferred: reviewed('deferred', { until: day }),
  withdrawn: event('proposal.withdrawn', { proposal: 'P-1', reason: 'r' }),
  superseded: event('proposal.superseded', { proposal: 'P-1', by: 'P-2' }),
  staled: event('proposal.staled', { proposal: 'P-1', base, active: revision }),
  expired: event('proposal.expired', { proposal: 'P-1', reason: 'late' }),
  failed: event('revision.activation-failed', { revision, proposal: 'P-1', stage: 'start', error: 'e' }),
  activated: activated(0),
  'activated on probation': activated(3),
  confirmed: event('revision.confirmed', { activation: 2, revision, proposal: 'P-1', steps: 3 }),
  'rolled back': event('revision.rolled-back', {
    ...{ from: at(2, revision), to: at(1, base), cause: 'operator', proposal: 'P-1', reason: 'r' },
  }),
} as const
type Name = keyof typeof events

const ways: Partial<Record<ProposalState, Name[]>> = {
  checking: [],
  'failed-checks': ['failed check'],
  ready: ['passed check', 'readied'],
  approved: ['readied', 'approved'],
  rejected: ['readied', 'rejected'],
  returned: ['readied', 'returned'],
  withdrawn: ['withdrawn'],
  superseded: ['superseded'],
  stale: ['staled'],
  expired: ['readied', 'expired'],
  'activation-failed': ['readied', 'approved', 'failed'],
  probation: ['readied', 'approved', 'activated on probation'],
  active: ['readied', 'approved', 'activated'],
  'rolled-back': ['readied', 'approved', 'activated', 'rolled back'],
}

/** Where each event leads from each state; whatever is not here leaves the state as it is. */
const leads: Partial<Record<ProposalState, Partial<Record<Name, ProposalState>>>> = {
  checking: {
    'failed check': 'failed-checks',
    'undecided check of an older history': 'failed-checks',
    readied: 'ready',
    withdrawn: 'withdrawn',
    superseded: 'superseded',
    staled: 'stale',
    expired: 'expired',
  },
  ready: {
    approved: 'approved',
    rejected: 'rejected',
    returned: 'returned',
    withdrawn: 'withdrawn',
    superseded: 'superseded',
    staled: 'stale',
    expired: 'expired',
  },
  approved: { failed: 'activation-failed', activated: 'active', 'activated on probation': 'probation' },
  // Another activation cuts a probation short: it was accepted.
  probation: {
    confirmed: 'active',
    'rolled back': 'rolled-back',
    activated: 'active',
    'activated on probation': 'active',
  },
  active: { 'rolled back': 'rolled-back' },
}

const run = (all: readonly Event[]): AgentState => all.reduce(advance, newAgent('a'))
const begun = [first, made()]
const table = Object.entries(ways).flatMap(([state, way]) =>
  (Object.keys(events) as Name[]).map((name) => ({ state: state as ProposalState, way, name })),
)

describe('a proposal', () => {
  it.each(table)('that is $state is as the table says after: $name', ({ state, way, name }) => {
    const before = run([...begun, ...way.map((one) => events[one])])
    expect(proposalOf(before, 'P-1')?.state).toBe(state)
    expect(proposalOf(advance(before, events[name]), 'P-1')?.state).toBe(leads[state]?.[name] ?? state)
  })

  it('keeps which gating checks could not be decided, and none of the others', () => {
    const open = run([...begun, events['undecided check'], events['undecided check that does not gate']])
    expect(proposalOf(open, 'P-1')).toMatchObject({ state: 'checking', unresolved: ['boot'] })
  })

  it('stands still while it is put off: its deadline moves by as much', () => {
    const put = (until: number | null) => reviewed('deferred', { until })
    const deadline = (...more: Event[]) => proposalOf(run([...begun, events.readied, ...more]), 'P-1')?.expiresAt
    expect([deadline(), deadline(put(day)), deadline(put(null)), deadline(put(day), put(null))]).toEqual([
      ...[7 * day, 8 * day, 7 * day, 8 * day],
    ])
  })

  it('says which proposal of the operator took its place', () => {
    const derived = { from: 'P-1', how: 'part' as const, agentLines: 1, operatorLines: 0, fallen: [] }
    const state = run([...begun, events.readied, made('P-2', derived), events.superseded])
    expect(proposalOf(state, 'P-1')).toMatchObject({ derivedTo: 'P-2', reason: 'the operator took a part of it: P-2' })
  })

  it('is the same by replay as live, for any order of events, and no event is needed twice', () => {
    const any = fc.array(fc.constantFrom(...(Object.keys(events) as Name[])), { maxLength: 30 })
    fc.assert(
      fc.property(any, fc.nat(30), (names, cut) => {
        const all = [...begun, ...names.map((name) => events[name])]
        // Live, from where a replay of the first part has left off.
        const live = all.slice(cut).reduce(advance, run(all.slice(0, cut)))
        expect(live).toEqual(run(all))
        const frozen = JSON.stringify(run(all.slice(0, cut)))
        const before = run(all.slice(0, cut))
        for (const one of all.slice(cut)) advance(before, one)
        expect(JSON.stringify(before)).toBe(frozen)
      }),
    )
  })
})
