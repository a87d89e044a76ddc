import type { Event } from '../../kernel/wire/events.ts'
import type { Preferences } from '../../kernel/wire/operator-settings.ts'

/** What the operating system says of an event, in place of an earlier one of the same id. Words of an agent are never in it. */
export interface Note {
  id: string
  kind: keyof Preferences['notify']
  title: string
  body: string
  /** Where a click leads, as the desk's own hash. There is no verdict in a note. */
  href: string
}

const pausedBecause: Readonly<Record<string, string>> = {
  endpoint: 'Its model does not answer. It goes on by itself once it does.',
  budget: 'A budget is used up.',
  model: 'Its model refuses it: look at the key and the name of the model.',
  world: 'Its world does not come back.',
  'safe-mode': 'Its executor failed too often: safe mode.',
}

/** @returns null for what is not worth an interruption. */
export function noteOf(event: Event): Note | null {
  const { agent, task } = event
  // A fork that runs one arm of a trial is looked at where the trial is.
  if (event.run === 'trial') return null
  if (event.kind === 'proposal.readied') {
    const { proposal } = event.data
    return {
      id: decisionId(agent, proposal),
      kind: 'decision',
      title: `${proposal} of ${agent} is ready for your verdict`,
      body: `Risk: ${event.data.risk}. Its checks are done.`,
      href: `#/review/${part(agent)}/${proposal}`,
    }
  }
  if (event.kind === 'proposal.recalled') {
    const { proposal } = event.data
    return {
      id: decisionId(agent, proposal),
      kind: 'decision',
      title: `${proposal} of ${agent} waits for your verdict again`,
      body: 'The time until which you put it off has come.',
      href: `#/review/${part(agent)}/${proposal}`,
    }
  }
  if (event.kind === 'revision.regressed')
    return {
      id: `regression ${agent} ${event.data.activation}`,
      kind: 'regressed',
      title: `r${event.data.activation} of ${agent} does worse than the revision before`,
      body:
        event.data.leadsTo === 'rollback'
          ? 'It was rolled back, as chosen when it was approved.'
          : 'Look whether to roll it back.',
      href: `#/revisions/${part(agent)}`,
    }
  if (task === null) return null
  const trouble = { id: `task ${task}`, kind: 'failed' as const, href: `#/live/${task}` }
  switch (event.kind) {
    case 'task.asked':
      return { ...trouble, kind: 'decision', title: `${task} asks you something`, body: 'It waits for your answer.' }
    case 'task.paused':
      if (event.data.by === 'operator') return null
      return { ...trouble, title: `${task} is paused`, body: pausedBecause[event.data.cause ?? ''] ?? 'See why.' }
    case 'budget.reached':
      return {
        ...trouble,
        kind: 'budget',
        title: `${task} has reached a limit`,
        body: `Its budget of ${event.data.budget} is used up.`,
      }
    case 'task.finished': {
      const { outcome } = event.data
      if (outcome === 'failed') return { ...trouble, title: `${task} has failed`, body: 'See why, and what it kept.' }
      if (outcome === 'budget')
        return { ...trouble, kind: 'budget', title: `${task} ended at its budget`, body: 'See what it reached.' }
      if (outcome === 'stopped') return null
      return { ...trouble, kind: 'finished', title: `${task} is finished`, body: `Outcome: ${outcome}.` }
    }
    default:
      return null
  }
}

/** Of a task that should be running, and from which nothing has come for a while. */
export function stallNote(task: string, minutes: number): Note {
  return {
    id: `task ${task}`,
    kind: 'failed',
    title: `${task} may be stalled`,
    body: `Nothing has come from it for ${minutes} minutes.`,
    href: `#/live/${task}`,
  }
}

/** @returns the note that an event has settled, to be taken back. */
export function settledBy(event: Event): string | null {
  switch (event.kind) {
    case 'proposal.reviewed':
    case 'proposal.expired':
    case 'proposal.withdrawn':
    case 'proposal.superseded':
    case 'proposal.staled':
      return decisionId(event.agent, event.data.proposal)
    case 'task.answered':
    case 'task.resumed':
      return `task ${event.task}`
    case 'revision.rolled-back':
      return event.data.cause === 'operator' ? `regression ${event.agent} ${event.data.from.activation}` : null
    case 'revision.confirmed':
      return `regression ${event.agent} ${event.data.activation}`
    default:
      return null
  }
}

function decisionId(agent: string | null, proposal: string): string {
  return `decision ${agent} ${proposal}`
}

function part(agent: string | null): string {
  return encodeURIComponent(agent ?? '')
}
