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
}

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
}

/** The operator's turn: what the kernel could fall back to has failed too. */
export interface SafeMode {
  activation: number
  reason: string
  at: number
}

export interface AgentState {
  agent: string
  tasks: readonly { task: string; unit: string | null }[]
  proposals: readonly ProposalRecord[]
  activations: readonly ActivationRecord[]
  /** Since when, and why, no executor of this agent is started; null: they are. */
  safeMode: SafeMode | null
  /** How each revision was last authorised. */
  authorised: ReadonlyMap<string, EventData<'revision.authorised'>['by']>
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
  'proposal.withdrawn',
  'proposal.superseded',
  'proposal.staled',
  'proposal.expired',
  'revision.authorised',
  'revision.activated',
  'revision.activation-failed',
  'revision.confirmed',
  'revision.rolled-back',
  'executor.escalated',
  'agent.released',
] as const satisfies readonly EventKind[]

export function newAgent(agent: string): AgentState {
  return { agent, tasks: [], proposals: [], activations: [], safeMode: null, authorised: new Map() }
}

/** The state after one more event of this agent. Events of other kinds leave it as it is. */
export function advance(state: AgentState, event: Event): AgentState {
  const decide = (proposal: string, next: ProposalState, reason: string | null): AgentState =>
    withProposal(state, proposal, { state: next, reason, decidedAt: event.at })
  switch (event.kind) {
    case 'task.created': {
      const known = { task: event.task ?? '', unit: event.data.goal?.unit ?? null }
      return { ...state, tasks: [...state.tasks, known] }
    }
    case 'proposal.made':
      return { ...state, proposals: [...state.proposals, made(event)] }
    case 'proposal.checked':
      return checked(state, event)
    case 'proposal.readied': {
      const { proposal, risk, reasons } = event.data
      return withProposal(state, proposal, { state: 'ready', risk, riskReasons: reasons })
    }
    case 'proposal.reviewed': {
      const { proposal, verdict, reason } = event.data
      return verdict === 'deferred' ? state : decide(proposal, verdict, reason === '' ? null : reason)
    }
    case 'proposal.withdrawn':
      return decide(event.data.proposal, 'withdrawn', event.data.reason)
    case 'proposal.superseded':
      return decide(event.data.proposal, 'superseded', `a newer one took its place: ${event.data.by}`)
    case 'proposal.staled':
      return decide(event.data.proposal, 'stale', staleReason(event.data))
    case 'proposal.expired':
      return decide(event.data.proposal, 'expired', 'the checks have changed since: propose it again')
    case 'revision.authorised':
      return { ...state, authorised: new Map([...state.authorised, [event.data.revision, event.data.by]]) }
    case 'revision.activated':
      return activated(state, event)
    case 'revision.activation-failed': {
      const { proposal, stage, error } = event.data
      return proposal === null ? state : decide(proposal, 'activation-failed', `${stage}: ${error}`)
    }
    case 'revision.confirmed': {
      const { activation, proposal } = event.data
      const next = withActivation(state, activation, { state: 'active' })
      return proposal === null ? next : withProposal(next, proposal, { state: 'active' })
    }
    case 'revision.rolled-back': {
      const { from, proposal, reason } = event.data
      const next = withActivation(state, from.activation, { state: 'rolled-back', reason })
      return proposal === null ? next : withProposal(next, proposal, { state: 'rolled-back', reason })
    }
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
  const { proposal, revision, base, claim, why, evidence, expects, by, files, sizeBytes, problems } = data
  const given = { proposal, revision, base, claim, why, evidence, expects, by, files, sizeBytes, problems, task }
  return {
    ...given,
    state: 'checking',
    madeAt: at,
    madeSeq: seq,
    checks: [],
    risk: null,
    riskReasons: [],
    decidedAt: null,
    reason: null,
    activation: null,
  }
}

/** The first check that does not pass ends it; an unresolved one is no pass. */
function checked(state: AgentState, { seq, hash, at, data }: Event<'proposal.checked'>): AgentState {
  const { proposal, check, verdict, summary, details, durationMs } = data
  const before = proposalOf(state, proposal)
  if (before === undefined) return state
  const checks = [...before.checks, { seq, hash, check, verdict, summary, details, durationMs }]
  if (verdict === 'pass' || before.state !== 'checking') return withProposal(state, proposal, { checks })
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
  }
  const past = state.activations.map((one) =>
    one.state === 'rolled-back' || one.state === 'past' ? one : { ...one, state: 'past' as const },
  )
  // Another revision is what the operator chose: safe mode was about the one before.
  const next: AgentState = { ...state, activations: [...past, row], safeMode: null }
  // A proposal whose probation was cut short by another activation has been accepted all the same.
  const settled = next.proposals.map((one) => (one.state === 'probation' ? { ...one, state: 'active' as const } : one))
  if (proposal === null) return { ...next, proposals: settled }
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

export function short(revision: string): string {
  return revision.slice(0, 12)
}

export function activeOf(state: AgentState): ActivationRecord | undefined {
  return state.activations.at(-1)
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
