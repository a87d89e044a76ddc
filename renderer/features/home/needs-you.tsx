import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ProposalSummary, TaskSummary } from '../../../kernel/wire/operator.ts'
import { DiffPreview } from '../../components/diff-preview.tsx'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Risk, TaskStatus } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'

type Need =
  | { kind: 'proposal'; href: string; proposal: ProposalSummary }
  | { kind: 'task'; href: string; task: TaskSummary }
  | { kind: 'regressed'; href: string; agent: string; activation: number; regressed: { at: number; text: string } }

type AgentRow = { agent: string; activation: number; regressed: { at: number; text: string } | null }

/** What is put off needs nobody until its time has come. */
export function needsOf(tasks: TaskSummary[], proposals: ProposalSummary[], agents: readonly AgentRow[] = []): Need[] {
  const ready = proposals
    .filter((each) => each.state === 'ready' && (each.deferredUntil ?? null) === null)
    .sort((a, b) => a.madeAt - b.madeAt)
  const stuck = tasks.filter((task) => task.state === 'waiting' || task.state === 'interrupted')
  return [
    // What runs and costs more than it may comes before what only waits.
    ...agents.flatMap(({ agent, activation, regressed }): Need[] =>
      regressed === null
        ? []
        : [{ kind: 'regressed', href: hrefOf({ screen: 'revisions', agent }), agent, activation, regressed }],
    ),
    ...ready.map(
      (proposal): Need => ({
        kind: 'proposal',
        href: hrefOf({ screen: 'review', agent: proposal.agent, proposal: proposal.proposal }),
        proposal,
      }),
    ),
    ...stuck.map((task): Need => ({ kind: 'task', href: hrefOf({ screen: 'live', task: task.task }), task })),
  ]
}

export function NeedsYou({ needs, selected }: { needs: Need[]; selected: number }) {
  return (
    <section className="panel" aria-label="Needs you">
      <header>
        <h2>Needs you</h2>
        <span className="tone-wait">▲ {needs.length}</span>
      </header>
      {needs.map((need, index) =>
        need.kind === 'proposal' ? (
          <ProposalNeed key={need.href} need={need} isSelected={index === selected} />
        ) : need.kind === 'regressed' ? (
          <RegressedNeed key={need.href} need={need} isSelected={index === selected} />
        ) : (
          <TaskNeed key={need.href} task={need.task} isSelected={index === selected} />
        ),
      )}
    </section>
  )
}

/** It stays until the operator goes back or keeps it, both on Revisions, with the figures. */
function RegressedNeed({ need, isSelected }: { need: Extract<Need, { kind: 'regressed' }>; isSelected: boolean }) {
  const { agent, activation, regressed, href } = need
  return (
    <div className="home-row home-need" data-selected={isSelected || undefined} data-testid="need-regressed">
      <span className="tone-wait">▲ regressed</span>
      <strong>r{activation}</strong>
      <span className="home-claim">
        <span className="muted">of </span>
        <InertText text={agent} />: {regressed.text}
      </span>
      <span className="muted figure">
        <TimeAgo at={regressed.at} />
      </span>
      <a className="button" href={href}>
        Review rollback
      </a>
    </div>
  )
}

function ProposalNeed({ need, isSelected }: { need: Extract<Need, { kind: 'proposal' }>; isSelected: boolean }) {
  const { proposal, href } = need
  return (
    <div className="home-need-block" data-selected={isSelected || undefined}>
      <div className="home-row home-need">
        <Risk tier={proposal.risk} />
        <strong>{proposal.proposal}</strong>
        <span className="home-claim">
          <span className="muted">claims </span>“<InertText text={proposal.claim} />”
        </span>
        <span className="figure">
          {proposal.files.length} {proposal.files.length === 1 ? 'file' : 'files'} +{proposal.addedLines} −
          {proposal.removedLines}
        </span>
        <span className="muted figure">
          {proposal.recalledAt ? (
            <>
              put off, back <TimeAgo at={proposal.recalledAt} />
            </>
          ) : (
            <>
              made <TimeAgo at={proposal.madeAt} />
            </>
          )}
        </span>
        <a className="button" href={href}>
          Review
        </a>
      </div>
      <Peek proposal={proposal} />
    </div>
  )
}

/** Fetched only when it is asked for. */
function Peek({ proposal }: { proposal: ProposalSummary }) {
  const [isOpen, setOpen] = useState(false)
  if (proposal.files.length === 0) return null
  return (
    <details className="home-peek" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="muted">preview</summary>
      {isOpen && <DiffPreview of={proposal} />}
    </details>
  )
}

/** A question of the agent, or a task that a crash cut short: going on is a choice, never automatic. */
function TaskNeed({ task, isSelected }: { task: TaskSummary; isSelected: boolean }) {
  const desk = useDesk()
  const [answer, setAnswer] = useState('')
  const act = useMutation({
    mutationFn: (verb: 'resume' | 'stop' | 'answer') =>
      verb === 'answer' ? desk.tasks.answer({ task: task.task, text: answer }) : desk.tasks[verb]({ task: task.task }),
    onSuccess: () => setAnswer(''),
  })
  return (
    <div className="home-need-block" data-selected={isSelected || undefined}>
      <div className="home-row">
        <TaskStatus task={task} />
        <a href={hrefOf({ screen: 'live', task: task.task })}>{task.task}</a>
        <span className="home-claim">
          <InertText text={task.reason ?? task.title} />
        </span>
        {task.state === 'interrupted' && (
          <>
            <button type="button" className="button" disabled={act.isPending} onClick={() => act.mutate('resume')}>
              Continue from the last event
            </button>
            <button type="button" className="button" disabled={act.isPending} onClick={() => act.mutate('stop')}>
              Stop and keep
            </button>
          </>
        )}
      </div>
      {task.state === 'waiting' && (
        <form
          className="home-answer"
          onSubmit={(event) => {
            event.preventDefault()
            act.mutate('answer')
          }}
        >
          <input
            className="field"
            value={answer}
            onChange={(event) => setAnswer(event.target.value)}
            aria-label="Your answer"
            placeholder="Your answer"
          />
          <button type="submit" className="button" disabled={answer.trim() === '' || act.isPending}>
            Answer
          </button>
        </form>
      )}
      {act.error && <p className="tone-bad home-empty">✗ {errorText(act.error)}</p>}
    </div>
  )
}
