import type { Event, EventData, EventKind } from '../wire/events.ts'
import type { PolicyFileChange, ProposalState } from '../wire/executor.ts'

/** The life of an agent's proposals and activations: a pure function of its events, rebuilt by replay. */

export interface CheckRecord {
  seq: number
  hash: string
  check: string
  verdict: EventData<'proposal.checked'>['verdict']
  summary: string
  details: EventData<'proposal.checked'>['details']
  durationMs: number
  gates: boolean
}

type Reviewed = EventData<'proposal.reviewed'>
/** What the operator last said of a file, by the bytes that it had. */
export type Look = Pick<EventData<'proposal.looked'>, 'proposal' | 'path' | 'hash' | 'viewed'>
export type Opinion = Omit<EventData<'proposal.opined'>, 'proposal' | 'revision'> & { seq: number; at: number }

export interface ProposalRecord {
  proposal: string
  task: string | null
  state: ProposalState
  revision: string
  base: string
  claim: string
  why: string
  evidence: readonly number[]
  expects: string | null
  by: 'executor' | 'operator'
  files: readonly PolicyFileChange[]
  sizeBytes: number
  problems: readonly { path: string; problem: string }[]
  madeAt: number
  madeSeq: number
  checks: readonly CheckRecord[]
  risk: EventData<'proposal.readied'>['risk'] | null
  riskReasons: readonly string[]
  /** By file; absent before it is ready, and in older histories. */
  fileRisks: EventData<'proposal.readied'>['files']
  /** Gating checks that could not be decided: an approval overrides each. */
  unresolved: readonly string[]
  derived: NonNullable<EventData<'proposal.made'>['derived']> | null
  /** The proposal that the operator made out of this one. */
  derivedTo: string | null
  comments: NonNullable<Reviewed['comments']>
  category: NonNullable<Reviewed['category']> | null
  overrides: NonNullable<Reviewed['overrides']>
  onBreach: NonNullable<Reviewed['onBreach']>
  decidedBy: Reviewed['by'] | null
  /** When it was approved, returned or rejected. */
  reviewedAt: number | null
  /** Of a decision by a rule. */
  rule: string | null
  /** Epoch ms; null: never. It stands still while it is put off. */
  expiresAt: number | null
  deferredUntil: number | null
  /** When the time until which it was put off had come; null: it was not, or is again. */
  recalledAt: number | null
  opinions: readonly Opinion[]
  /** When it left the operator's hands, or ended. */
  decidedAt: number | null
  /** Why it is in this state, in plain words. */
  reason: string | null
  activation: number | null
}

export interface ActivationRecord {
  activation: number
  revision: string
  previous: string | null
  cause: EventData<'revision.activated'>['cause']
  proposal: string | null
  authorisedBy: EventData<'revision.authorised'>['by']
  at: number
  seq: number
  state: 'active' | 'probation' | 'past' | 'rolled-back'
  /** Why it was rolled back. */
  reason: string | null
  probationSteps: number
  /** Steps completed in probation. */
  steps: number
  /** As chosen when it was approved. */
  onBreach: NonNullable<Reviewed['onBreach']>
  /** It has gone beyond a limit. */
  regressed: boolean
  /** How; null: it has not. */
  breach: (EventData<'revision.regressed'> & { seq: number; at: number }) | null
  /** The operator has left it as it is in spite of that. */
  kept: boolean
}

/** The operator's turn: what the kernel could fall back to has failed too. */
export interface SafeMode {
  activation: number
  reason: string
  at: number
}

export interface AgentState {
  agent: string
  tasks: readonly { task: string; unit: string | null; pack: string | null }[]
  proposals: readonly ProposalRecord[]
  looks: readonly Look[]
  activations: readonly ActivationRecord[]
  /** Since when, and why, no executor of this agent is started; null: they are. */
  safeMode: SafeMode | null
  /** How each revision was last authorised. */
  authorised: ReadonlyMap<string, EventData<'revision.authorised'>['by']>
  /** The trial that it is an arm of: no proposal, no task and no fork is ever made of it. */
  trial: string | null
}

/** What the state follows from. `model.called` moves it too, while a probation lasts. */
export const policyKinds = [
  'agent.created',
  'agent.forked',
  'task.created',
  'proposal.made',
  'proposal.checked',
  'proposal.readied',
  'proposal.reviewed',
  'proposal.looked',
  'proposal.opined',
  'proposal.withdrawn',
  'proposal.superseded',
  'proposal.staled',
  'proposal.expired',
  'proposal.recalled',
  'revision.authorised',
  'revision.activated',
  'revision.activation-failed',
  'revision.confirmed',
  'revision.rolled-back',
  'revision.regressed',
  'executor.escalated',
  'agent.released',
  'rule.changed',
] as const satisfies readonly EventKind[]

export function newAgent(agent: string): AgentState {
  const none = { tasks: [], proposals: [], looks: [], activations: [] }
  return { agent, ...none, safeMode: null, authorised: new Map(), trial: null }
}

const waits: readonly ProposalState[] = ['checking', 'ready']
/** The states that an event takes a proposal out of; in any other it says nothing new. */
const leaves: { readonly [kind in EventKind]?: readonly ProposalState[] } = {
  'proposal.readied': ['checking'],
  'proposal.reviewed': ['ready'],
  'proposal.withdrawn': waits,
  'proposal.superseded': waits,
  'proposal.staled': waits,
  'proposal.expired': waits,
  'proposal.recalled': ['ready'],
  'revision.activation-failed': ['approved'],
  'revision.confirmed': ['probation'],
  'revision.rolled-back': ['probation', 'active'],
}

/** The state after one more event of this agent. Events of other kinds leave it as it is. */
export function advance(state: AgentState, event: Event): AgentState {
  const move = (proposal: string | null, change: Partial<ProposalRecord>): AgentState => {
    const before = proposal === null ? undefined : proposalOf(state, proposal)
    if (before === undefined || leaves[event.kind]?.includes(before.state) !== true) return state
    return withProposal(state, before.proposal, change)
  }
  const decide = (proposal: string | null, next: ProposalState, reason: string | null): AgentState =>
    move(proposal, { state: next, reason, decidedAt: event.at })
  switch (event.kind) {
    case 'agent.forked':
      return { ...state, trial: event.data.trial ?? null }
    case 'task.created': {
      const known = { task: event.task ?? '', unit: event.data.goal?.unit ?? null, pack: event.data.pack }
      return { ...state, tasks: [...state.tasks, known] }
    }
    case 'proposal.made':
      return derivedFrom({ ...state, proposals: [...state.proposals, made(event)] }, event)
    case 'proposal.checked':
      return checked(state, event)
    case 'proposal.readied': {
      const { proposal, risk, reasons, files, expiresAt = null } = event.data
      return move(proposal, { state: 'ready', risk, riskReasons: reasons, fileRisks: files, expiresAt })
    }
    case 'proposal.reviewed': {
      const before = proposalOf(state, event.data.proposal)
      return before === undefined ? state : move(before.proposal, reviewed(before, event))
    }
    case 'proposal.looked': {
      const { proposal, path, hash, viewed } = event.data
      const others = state.looks.filter((one) => one.path !== path || one.hash !== hash)
      return { ...state, looks: [...others, { proposal, path, hash, viewed }] }
    }
    case 'proposal.opined': {
      const { proposal, revision: _revision, ...said } = event.data
      const opinions = proposalOf(state, proposal)?.opinions ?? []
      return withProposal(state, proposal, { opinions: [...opinions, { ...said, seq: event.seq, at: event.at }] })
    }
    case 'proposal.recalled':
      return move(event.data.proposal, { deferredUntil: null, recalledAt: event.at })
    case 'proposal.withdrawn':
      return decide(event.data.proposal, 'withdrawn', event.data.reason)
    case 'proposal.superseded':
      return decide(event.data.proposal, 'superseded', supersededReason(state, event.data))
    case 'proposal.staled':
      return decide(event.data.proposal, 'stale', staleReason(event.data))
    case 'proposal.expired':
      return decide(event.data.proposal, 'expired', event.data.reason ?? checksChanged)
    case 'revision.authorised':
      return { ...state, authorised: new Map([...state.authorised, [event.data.revision, event.data.by]]) }
    case 'revision.activated':
      return activated(state, event)
    case 'revision.activation-failed': {
      const { proposal, stage, error } = event.data
      return decide(proposal, 'activation-failed', `${stage}: ${error}`)
    }
    case 'revision.confirmed': {
      const { activation, proposal } = event.data
      const kept = event.actor === 'operator'
      return withActivation(move(proposal, { state: 'active' }), activation, { state: 'active', kept })
    }
    case 'revision.rolled-back': {
      const { from, proposal, reason } = event.data
      const rolledBack = { state: 'rolled-back' as const, reason }
      return withActivation(move(proposal, rolledBack), from.activation, rolledBack)
    }
    case 'revision.regressed':
      return withActivation(state, event.data.activation, {
        regressed: true,
        breach: { ...event.data, seq: event.seq, at: event.at },
      })
    case 'executor.escalated':
      if (event.data.to !== 'safe-mode') return state
      return {
        ...state,
        safeMode: { activation: activeOf(state)?.activation ?? 0, reason: event.data.reason, at: event.at },
      }
    case 'agent.released':
      return { ...state, safeMode: null }
    case 'model.called':
      return called(state, event)
    default:
      return state
  }
}

function made({ data, task, at, seq }: Event<'proposal.made'>): ProposalRecord {
  const { proposal, revision, base, claim, why, evidence, expects, by, files, sizeBytes, problems, derived } = data
  const given = { proposal, revision, base, claim, why, evidence, expects, by, files, sizeBytes, problems, task }
  return {
    ...given,
    state: 'checking',
    madeAt: at,
    madeSeq: seq,
    checks: [],
    risk: null,
    riskReasons: [],
    fileRisks: undefined,
    decidedAt: null,
    reason: null,
    activation: null,
    unresolved: [],
    derived: derived ?? null,
    derivedTo: null,
    comments: [],
    category: null,
    overrides: [],
    onBreach: 'propose',
    decidedBy: null,
    reviewedAt: null,
    rule: null,
    expiresAt: null,
    deferredUntil: null,
    recalledAt: null,
    opinions: [],
  }
}

function derivedFrom(state: AgentState, { data }: Event<'proposal.made'>): AgentState {
  return data.derived === undefined ? state : withProposal(state, data.derived.from, { derivedTo: data.proposal })
}

function reviewed(before: ProposalRecord, { at, data }: Event<'proposal.reviewed'>): Partial<ProposalRecord> {
  const { verdict, by, category = null, comments = [], overrides = [], onBreach = 'propose', rule = null } = data
  const { until = null } = data
  const reason = data.reason === '' ? null : data.reason
  if (verdict === 'deferred') {
    const expiresAt = before.expiresAt === null ? null : before.expiresAt + Math.max(0, (until ?? at) - at)
    return { deferredUntil: until, recalledAt: null, expiresAt, reason }
  }
  const decision = { decidedAt: at, reviewedAt: at, decidedBy: by, rule, deferredUntil: null }
  return { state: verdict, reason, ...decision, comments, category, overrides, onBreach }
}

function supersededReason(state: AgentState, { proposal, by }: EventData<'proposal.superseded'>): string {
  const derived = proposalOf(state, by)?.derived
  if (derived?.from !== proposal) return `a newer one took its place: ${by}`
  return derived.how === 'part' ? `the operator took a part of it: ${by}` : `the operator edited it: ${by}`
}

/** A gating check that fails ends it; one that is unresolved is no pass, and waits for the operator. */
function checked(state: AgentState, { seq, hash, at, data }: Event<'proposal.checked'>): AgentState {
  const { proposal, check, verdict, summary, details, durationMs, gates = true } = data
  const before = proposalOf(state, proposal)
  if (before === undefined) return state
  const checks = [...before.checks, { seq, hash, check, verdict, summary, details, durationMs, gates }]
  const isOver = verdict === 'fail' ? gates : verdict === 'unresolved' && data.gates === undefined
  const isOpen = verdict === 'unresolved' && gates
  const unresolved = isOpen ? [...before.unresolved, check] : before.unresolved
  if (!isOver || before.state !== 'checking') return withProposal(state, proposal, { checks, unresolved })
  return withProposal(state, proposal, {
    checks,
    state: 'failed-checks',
    reason: `${check}: ${summary}`,
    decidedAt: at,
  })
}

function activated(state: AgentState, { seq, at, data }: Event<'revision.activated'>): AgentState {
  const { activation, revision, previous, cause, proposal, probationSteps } = data
  const inProbation = probationSteps > 0
  const row: ActivationRecord = {
    ...{ activation, revision, previous, cause, proposal, at, seq, probationSteps },
    authorisedBy: state.authorised.get(revision) ?? 'seed',
    state: inProbation ? 'probation' : 'active',
    reason: null,
    steps: 0,
    regressed: false,
    breach: null,
    kept: false,
    onBreach: (proposal === null ? undefined : proposalOf(state, proposal)?.onBreach) ?? 'propose',
  }
  const past = state.activations.map((one) =>
    one.state === 'rolled-back' || one.state === 'past' ? one : { ...one, state: 'past' as const },
  )
  // Another revision is what the operator chose: safe mode was about the one before.
  const next: AgentState = { ...state, activations: [...past, row], safeMode: null }
  // A proposal whose probation was cut short by another activation has been accepted all the same.
  const settled = next.proposals.map((one) => (one.state === 'probation' ? { ...one, state: 'active' as const } : one))
  if (proposal === null) return { ...next, proposals: settled }
  if (proposalOf(state, proposal)?.state !== 'approved') return { ...next, proposals: settled }
  const change = { state: inProbation ? ('probation' as const) : ('active' as const), activation, reason: null }
  return withProposal({ ...next, proposals: settled }, proposal, { ...change, decidedAt: at })
}

/** A step counts once the model has answered it: a policy whose calls all fail is never confirmed. */
function called(state: AgentState, { run, revision, data }: Event<'model.called'>): AgentState {
  const active = activeOf(state)
  if (active?.state !== 'probation' || run !== 'task' || revision !== active.revision) return state
  if (data.status !== 'completed' && data.status !== 'incomplete') return state
  return withActivation(state, active.activation, { steps: active.steps + 1 })
}

function staleReason({ base, active }: { base: string; active: string }): string {
  return (
    `it was made from ${short(base)}, but ${short(active)} is active now. policy.diff shows how /policy differs; ` +
    'policy.reset {to: "active"} lays /policy anew (your edits are kept as artifact policy-backup); then make the change again and propose it'
  )
}

/** What an expiry means that does not say. */
export const checksChanged = 'the checks have changed since: propose it again'

export function short(revision: string): string {
  return revision.slice(0, 12)
}

export function activeOf(state: AgentState): ActivationRecord | undefined {
  return state.activations.at(-1)
}

/** The operator's turn: it has gone beyond a limit, and is neither rolled back nor kept. */
export function isBreachOpen({ regressed, kept, state }: ActivationRecord): boolean {
  return regressed && !kept && (state === 'active' || state === 'probation')
}

export function proposalOf(state: AgentState, proposal: string): ProposalRecord | undefined {
  return state.proposals.find((one) => one.proposal === proposal)
}

/** Those that a newer one, or another active revision, takes out of the running. */
export function waiting(state: AgentState): ProposalRecord[] {
  return state.proposals.filter((one) => one.state === 'checking' || one.state === 'ready')
}

function withProposal(state: AgentState, proposal: string, change: Partial<ProposalRecord>): AgentState {
  const proposals = state.proposals.map((one) => (one.proposal === proposal ? { ...one, ...change } : one))
  return { ...state, proposals }
}

function withActivation(state: AgentState, activation: number, change: Partial<ActivationRecord>): AgentState {
  const activations = state.activations.map((one) => (one.activation === activation ? { ...one, ...change } : one))
  return { ...state, activations }
}
