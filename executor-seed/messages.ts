import type { Json, WireEvent } from '#wire'

/** Events that the model is told of, and how. A function may return null: this one is not worth a message. */
const renderers: { [kind: string]: (data: { [key: string]: Json }) => string | null } = {
  'task.steered': (data) => `The operator says: ${data.text}`,
  'task.answered': (data) => `The operator answers: ${data.text}`,
  'proposal.checked': (data) => {
    if (data.verdict === 'pass') return null
    const verdict = data.verdict === 'fail' ? 'failed' : 'could not decide'
    return `${data.proposal} stops: check ${data.check} ${verdict}: ${data.summary}${details(data.details)}\nWhat runs is unchanged. Your edit is still in /policy: correct it and propose again, or leave it.`
  },
  'proposal.reviewed': (data) => {
    const by = data.by === 'operator' ? 'The operator' : data.by === 'rule' ? 'A rule' : 'The run'
    const said = data.reason === '' ? '.' : `: ${data.reason}`
    switch (data.verdict) {
      case 'approved':
        return `${by} approved ${data.proposal}${said}`
      case 'rejected':
        return `${by} rejected ${data.proposal}${said}\nWhat runs is unchanged. Your edit is still in /policy.`
      case 'returned':
        return `${by} returned ${data.proposal} for changes${said}\nYour edit is still in /policy.`
      default:
        return `${by} put ${data.proposal} off${said}`
    }
  },
  'proposal.staled': (data) =>
    `${data.proposal} is stale: another revision became active meanwhile. Propose again if it still helps.`,
  'revision.activated': (data) =>
    data.cause === 'proposal'
      ? `${data.proposal} is active: you now run r${data.activation}, on probation for ${data.probationSteps} steps.`
      : null,
  'revision.activation-failed': (data) =>
    `${data.proposal ?? 'A revision'} could not take over (${data.stage}): ${data.error}\nWhat runs is unchanged.`,
  'revision.rolled-back': (data) => {
    const { from, to } = data as { from: { activation: number }; to: { activation: number } }
    return `r${from.activation}${data.proposal === null ? '' : ` (${data.proposal})`} was rolled back to the code of r${to.activation} (${data.cause}): ${data.reason}\nYour edit is still in /policy.`
  },
  'job.ended': (data) => {
    const how = data.ending === 'exited' ? (data.signal ?? `exit code ${data.exitCode}`) : data.ending
    const why = data.outOfMemory === true ? ': it reached the memory limit' : ''
    return `${data.job} ended (${how}) after ${Math.round(Number(data.durationMs) / 1000)} s${why}.`
  },
  'tool.quarantined': (data) => `The tool ${data.tool} is off: ${data.reason}`,
  'tool.released': (data) => `The tool ${data.tool} may be used again${data.reason === '' ? '.' : `: ${data.reason}`}`,
  'tool.retirement-asked': (data) => `The operator asks you to retire the tool ${data.tool}: ${data.reason}`,
}

export const messageKinds: readonly string[] = Object.keys(renderers)

/** A short message for the model, or null where there is nothing to tell. The same event always gives the same text. */
export function messageOf(event: WireEvent): string | null {
  return renderers[event.kind]?.(event.data) ?? null
}

function details(value: Json | undefined): string {
  if (value === undefined || value === null || value === '') return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '{}' || text === '[]' ? '' : `\n${text.slice(0, 1200)}`
}
