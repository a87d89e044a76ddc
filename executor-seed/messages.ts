import type { Json, WireEvent } from '#wire'

/** Events that the model is told of, and how. A function may return null: this one is not worth a message. */
const renderers: { [kind: string]: (data: { [key: string]: Json }) => string | null } = {
  'task.steered': (data) => `The operator says: ${data.text}`,
  'task.answered': (data) => `The operator answers: ${data.text}`,
  'proposal.made': (data) => derived(data),
  'proposal.checked': (data) => {
    // A check that does not gate decides nothing.
    if (data.verdict === 'pass' || data.gates === false) return null
    if (data.verdict === 'unresolved' && data.gates === true)
      return `Check ${data.check} could not decide ${data.proposal}: ${data.summary}\nIt is for the operator to decide without it.`
    const verdict = data.verdict === 'fail' ? 'failed' : 'could not decide'
    return `${data.proposal} stops: check ${data.check} ${verdict}: ${data.summary}${details(data.details)}\nWhat runs is unchanged. Your edit is still in /policy: correct it and propose again, or leave it.`
  },
  'proposal.reviewed': (data) => {
    const rule = typeof data.rule === 'string' ? ` (${data.rule})` : ''
    const by = data.by === 'operator' ? 'The operator' : data.by === 'rule' ? `A rule${rule}` : 'The run'
    const said = data.reason === '' || data.reason === undefined ? '.' : `: ${data.reason}`
    switch (data.verdict) {
      case 'approved':
        return `${by} approved ${data.proposal}${said}${list(data.overrides, ({ check, reason }) => `without check ${check}: ${reason}`)}`
      case 'rejected': {
        const category = typeof data.category === 'string' ? ` (${data.category})` : ''
        return `${by} rejected ${data.proposal}${category}${said}\nWhat runs is unchanged. Your edit is still in /policy.`
      }
      case 'returned':
        return `${by} returned ${data.proposal} for changes${said}${list(data.comments, commentLine)}\nYour edit is still in /policy: change it and propose again.`
      default:
        return `${by} put ${data.proposal} off${said}`
    }
  },
  'proposal.expired': (data) =>
    `${data.proposal} has expired, and was not turned down: ${data.reason ?? 'nobody decided it'}`,
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
  'revision.regressed': (data) =>
    `r${data.activation}${data.proposal === null ? '' : ` (${data.proposal})`} is beyond its limit of ${data.limit}: ${data.measured}, where ${data.bound} was allowed, over ${data.steps} steps.`,
  'job.ended': (data) => {
    const how = data.ending === 'exited' ? (data.signal ?? `exit code ${data.exitCode}`) : data.ending
    const why = data.outOfMemory === true ? ': it reached the memory limit' : ''
    return `${data.job} ended (${how}) after ${Math.round(Number(data.durationMs) / 1000)} s${why}.`
  },
  'tool.quarantined': (data) => `The tool ${data.tool} is off: ${data.reason}`,
  'tool.released': (data) => `The tool ${data.tool} may be used again${data.reason === '' ? '.' : `: ${data.reason}`}`,
  'tool.retirement-asked': (data) => `The operator asks you to retire the tool ${data.tool}: ${data.reason}`,
}

type Fields = { [key: string]: Json }

/** The operator's own proposal, made out of one of this agent's: what of it stays, and why the rest fell. */
function derived(data: Fields): string | null {
  if (typeof data.derived !== 'object' || data.derived === null || Array.isArray(data.derived)) return null
  const { from, how, fallen } = data.derived
  const what = how === 'part' ? 'a part of' : 'an edited version of'
  const why = list(
    fallen,
    ({ path, lines, reason }) => `left out: ${path}, ${lines}${reason === '' ? '' : `: ${reason}`}`,
  )
  return `The operator takes ${what} ${from} as ${data.proposal}, and decides on that${data.why === '' ? '.' : `: ${data.why}`}${why}\nYour own edit is still in /policy. Once ${data.proposal} is active, lay /policy anew before you change more.`
}

function commentLine({ path, side, line, text }: Fields): string {
  return `${path}:${line}${side === 'before' ? ' (as it was)' : ''}: ${text}`
}

/** One line for each; nothing for none. */
function list(value: Json | undefined, line: (one: Fields) => string): string {
  return Array.isArray(value) ? value.map((one) => `\n- ${line(one as Fields)}`).join('') : ''
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
