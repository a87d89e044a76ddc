import type { ProposalSummary, RevisionRow, TaskSummary } from '../../kernel/wire/operator.ts'

interface Word {
  icon: string
  word: string
  tone: 'run' | 'wait' | 'ok' | 'bad' | 'muted' | 'stale'
}

const taskWords: Record<TaskSummary['state'], Word> = {
  starting: { icon: '◐', word: 'starting', tone: 'run' },
  running: { icon: '●', word: 'running', tone: 'run' },
  pausing: { icon: '‖', word: 'pausing at the next safe point', tone: 'muted' },
  paused: { icon: '‖', word: 'paused', tone: 'muted' },
  waiting: { icon: '▲', word: 'waiting for you', tone: 'wait' },
  stopping: { icon: '■', word: 'stopping', tone: 'muted' },
  finished: { icon: '■', word: 'finished', tone: 'muted' },
  interrupted: { icon: '▲', word: 'interrupted', tone: 'wait' },
}

const outcomeWords: Record<NonNullable<TaskSummary['outcome']>, Word> = {
  completed: { icon: '✓', word: 'completed', tone: 'ok' },
  failed: { icon: '✗', word: 'failed', tone: 'bad' },
  stopped: { icon: '■', word: 'stopped', tone: 'muted' },
  budget: { icon: '▲', word: 'out of budget', tone: 'wait' },
  claimed: { icon: '?', word: 'claimed complete, not graded', tone: 'wait' },
}

const proposalWords: Record<ProposalSummary['state'], Word> = {
  checking: { icon: '◐', word: 'checking', tone: 'run' },
  ready: { icon: '▲', word: 'ready for your verdict', tone: 'wait' },
  approved: { icon: '✓', word: 'approved', tone: 'ok' },
  activating: { icon: '◐', word: 'activating', tone: 'run' },
  probation: { icon: '◐', word: 'on probation', tone: 'run' },
  active: { icon: '✓', word: 'active', tone: 'ok' },
  'failed-checks': { icon: '✗', word: 'failed its checks', tone: 'bad' },
  rejected: { icon: '✗', word: 'rejected', tone: 'bad' },
  returned: { icon: '↩', word: 'returned', tone: 'muted' },
  stale: { icon: '⟳', word: 'stale', tone: 'stale' },
  superseded: { icon: '⟳', word: 'superseded', tone: 'stale' },
  withdrawn: { icon: '■', word: 'withdrawn', tone: 'muted' },
  expired: { icon: '■', word: 'expired', tone: 'muted' },
  'activation-failed': { icon: '✗', word: 'activation failed', tone: 'bad' },
  'rolled-back': { icon: '↩', word: 'rolled back', tone: 'wait' },
}

const revisionWords: Record<RevisionRow['state'], Word> = {
  active: { icon: '●', word: 'active', tone: 'ok' },
  probation: { icon: '◐', word: 'active, on probation', tone: 'run' },
  past: { icon: '○', word: 'past', tone: 'muted' },
  'rolled-back': { icon: '↩', word: 'rolled back', tone: 'wait' },
}

const checkWords: Record<'pass' | 'fail' | 'unresolved', Word> = {
  pass: { icon: '✓', word: 'pass', tone: 'ok' },
  fail: { icon: '✗', word: 'fail', tone: 'bad' },
  unresolved: { icon: '?', word: 'unresolved', tone: 'wait' },
}

/** A status is always icon, word and colour together. */
function StatusWord({ icon, word, tone }: Word) {
  return (
    <span className={`status-word tone-${tone}`}>
      <span aria-hidden="true">{icon}</span> {word}
    </span>
  )
}

export function TaskStatus({ task }: { task: Pick<TaskSummary, 'state' | 'outcome'> }) {
  const word = task.state === 'finished' && task.outcome ? outcomeWords[task.outcome] : taskWords[task.state]
  return <StatusWord {...word} />
}

export function ProposalStatus({ state }: { state: ProposalSummary['state'] }) {
  return <StatusWord {...proposalWords[state]} />
}

export function RevisionStatus({ state }: { state: RevisionRow['state'] }) {
  return <StatusWord {...revisionWords[state]} />
}

export function CheckVerdict({ verdict }: { verdict: 'pass' | 'fail' | 'unresolved' }) {
  return <StatusWord {...checkWords[verdict]} />
}

/** Shape and weight, not a second rainbow. */
export function Risk({ tier }: { tier: ProposalSummary['risk'] }) {
  if (tier === null) return <span className="chip">risk not known yet</span>
  const icon = { LOW: null, MED: '■ ', HIGH: '▲ ', KERNEL: <Lock /> }[tier]
  return (
    <span className={`chip risk-${tier}`}>
      {icon}
      {tier}
    </span>
  )
}

/** Drawn: its sign is an emoji, which many systems have no font for. */
function Lock() {
  return (
    <svg className="risk-lock" viewBox="0 0 10 12" width="8" height="10" aria-hidden="true">
      <path d="M2 5V3.5a3 3 0 0 1 6 0V5" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <rect x="0.5" y="5" width="9" height="6.5" rx="1" fill="currentColor" />
    </svg>
  )
}

/** Every figure of a simulated model says so. */
export function Simulated({ isSimulated }: { isSimulated: boolean }) {
  if (!isSimulated) return null
  return (
    <span className="chip" title="This figure comes from the offline model: nothing was billed">
      simulated
    </span>
  )
}
