// Long because: it has a line for each kind of event.
// One line of the feed for each kind of event. `text` may hold words of the agent: it is only ever shown as inert text.
import type { EventKind } from '../../kernel/wire/events.ts'
import type { EventRow } from '../../kernel/wire/operator.ts'
import { amount, duration, money, shortHash, tokens } from './format.ts'
import { firstLine } from './inert.ts'

export type Tone = 'plain' | 'muted' | 'run' | 'wait' | 'ok' | 'bad' | 'mark'
export type Group = 'model' | 'tool' | 'policy' | 'task' | 'host'

export interface EventLine {
  icon: string
  word: string
  text: string
  tone: Tone
  group: Group
  /** Figures at the right edge. */
  figures: string[]
  isError?: boolean
}

type Data = Record<string, unknown>
type Line = Partial<EventLine> & { word: string }

const str = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)
const num = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** Complete by construction: a kind without a line does not compile. Also the list of kinds that History filters by. */
const lines: Record<EventKind, (data: Data) => Line> = {
  'kernel.started': (d) => ({
    word: 'kernel started',
    text: `${str(d.host)}, version ${str(d.version)}`,
    group: 'host',
  }),
  'kernel.recovered': (d) => ({ word: 'recovered', text: str(d.summary), tone: 'wait', icon: '⟳', group: 'host' }),
  'host.suspended': () => ({ word: 'host suspended', group: 'host' }),
  'host.resumed': (d) => ({ word: 'host resumed', text: `after ${duration(num(d.suspendedMs))}`, group: 'host' }),
  'setting.changed': (d) => ({
    word: 'setting',
    text: `${str(d.key)}: ${str(d.previous)} → ${str(d.value)}`,
    group: 'host',
  }),
  'price.changed': (d) => ({ word: 'prices', text: `version ${str(d.version)} from ${str(d.source)}`, group: 'host' }),
  'profile.changed': (d) => ({ word: 'guardian profile', text: str(d.profile), group: 'policy' }),
  'rule.changed': (d) => ({ word: `rule ${str(d.change)}`, text: str(d.rule), group: 'policy' }),
  'export.written': (d) => ({ word: 'export', text: str(d.format), group: 'host' }),
  'event.noted': (d) => ({ word: 'your note', text: `on event ${str(d.about)}: ${firstLine(str(d.text))}`, icon: '✎' }),
  'event.labelled': (d) => ({
    word: d.isSet ? 'labelled' : 'label taken off',
    text: `event ${str(d.about)}: ${str(d.label)}`,
  }),
  'payload.tombstoned': (d) => ({
    word: 'payload removed',
    text: `event ${str(d.seq)}: ${str(d.reason)}`,
    group: 'host',
  }),
  'notice.raised': (d) => ({
    word: str(d.severity) === 'info' ? 'notice' : str(d.severity),
    text: str(d.text),
    tone: d.severity === 'error' ? 'bad' : d.severity === 'warning' ? 'wait' : 'plain',
    icon: d.severity === 'info' ? '·' : '▲',
    isError: d.severity === 'error',
    group: 'host',
  }),
  'notice.put-away': (d) => ({ word: 'put away', text: str(d.text), group: 'host' }),
  'notice.cleared': (d) => ({ word: 'mended', text: str(d.id), tone: 'ok', icon: '✓', group: 'host' }),
  'backup.written': (d) => ({ word: 'backup', text: `${str(d.file)}, up to event ${str(d.seq)}`, group: 'host' }),
  'blobs.archived': (d) => ({ word: 'archived', text: `${str(d.blobs)} blobs to ${str(d.file)}`, group: 'host' }),
  'budget.set': (d) => ({
    word: 'budget',
    text: d.scope === 'agent' ? `of agent ${str(d.agent)}` : 'of the day',
    figures: [
      d.nanoUsd === null ? '' : money(num(d.nanoUsd)),
      d.tokens === null ? '' : `${amount(num(d.tokens))} tokens`,
    ],
    group: 'host',
  }),
  'credential.sealed': (d) => ({
    word: 'credential sealed',
    text: `${str(d.credential)} for ${str(d.origin)}`,
    group: 'host',
  }),
  'credential.removed': (d) => ({ word: 'credential removed', text: str(d.credential), group: 'host' }),
  'agent.created': (d) => ({
    word: 'agent created',
    text: `${str(d.name)} with ${shortHash(str(d.revision))}`,
    group: 'task',
  }),
  'agent.released': (d) => ({ word: 'left safe mode', text: str(d.reason), group: 'policy' }),
  'agent.forked': (d) => ({ word: 'agent forked', text: str(d.name), group: 'task' }),
  'task.created': (d) => ({ word: 'task created', text: str(d.title), group: 'task' }),
  'task.started': () => ({ word: 'task started', tone: 'run', icon: '●', group: 'task' }),
  'task.paused': (d) => ({ word: 'paused', text: str(d.reason), icon: '‖', group: 'task' }),
  'task.resumed': (d) => ({ word: 'resumed', text: `by ${str(d.by)}`, tone: 'run', icon: '●', group: 'task' }),
  'task.steered': (d) => ({ word: 'steered', text: firstLine(str(d.text)), icon: '↳', tone: 'mark', group: 'task' }),
  'task.asked': (d) => ({ word: 'asks', text: firstLine(str(d.question)), tone: 'wait', icon: '▲', group: 'task' }),
  'task.answered': (d) => ({ word: 'answered', text: firstLine(str(d.text)), icon: '↳', group: 'task' }),
  'task.claimed': (d) => ({ word: 'complete', text: firstLine(str(d.reason)), group: 'task' }),
  'task.progressed': (d) => ({
    word: 'progress',
    icon: '↗',
    tone: 'ok',
    text: `${amount(num(d.value))}${num(d.goal) === null ? '' : ` of ${amount(num(d.goal))}`} ${str(d.unit)}`,
    figures: [str(d.source)],
    group: 'task',
  }),
  'task.graded': (d) => ({
    word: 'graded',
    text: d.error ? str(d.error) : `reward ${amount(num(d.reward))}`,
    tone: d.error ? 'bad' : 'ok',
    icon: d.error ? '✗' : '✓',
    group: 'task',
  }),
  'task.finished': (d) => ({
    word: `task ${str(d.outcome)}`,
    text: str(d.reason),
    tone: d.outcome === 'completed' ? 'ok' : d.outcome === 'failed' ? 'bad' : 'plain',
    icon: d.outcome === 'completed' ? '✓' : d.outcome === 'failed' ? '✗' : '■',
    group: 'task',
  }),
  'turn.started': (d) => ({
    word: 'turn',
    text: `up to ${str(d.maxSteps)} steps`,
    tone: 'muted',
    icon: '▪',
    group: 'task',
  }),
  'turn.ended': (d) => ({
    word: `turn ${str(d.outcome)}`,
    text: [`${str(d.steps)} steps`, str(d.reason)].filter(Boolean).join(', '),
    tone: d.outcome === 'failed' ? 'bad' : 'muted',
    icon: '▪',
    isError: d.outcome === 'failed',
    group: 'task',
  }),
  'message.appended': (d) => ({
    word: str(d.role) === 'summary' ? 'summary' : 'says',
    text: firstLine(str(d.text)),
    icon: '❝',
    group: 'model',
  }),
  'note.added': (d) => ({
    word: 'note',
    text: [d.topic, d.text]
      .filter(Boolean)
      .map(str)
      .map((text) => firstLine(text))
      .join(': '),
    icon: '✎',
    group: 'model',
  }),
  'model.reserved': (d) => ({
    word: 'reserved',
    text: str(d.model),
    tone: 'muted',
    figures: [`${amount(num(d.tokens))} tokens`],
    group: 'model',
  }),
  'model.attempted': (d) => ({
    word: `attempt ${str(d.attempt)}`,
    text: d.error ? firstLine(str(d.error)) : str(d.status),
    tone: d.status === 'completed' ? 'muted' : 'bad',
    icon: d.status === 'completed' ? '·' : '✗',
    isError: d.status === 'failed',
    figures: [duration(num(d.durationMs))],
    group: 'model',
  }),
  'model.called': modelLine,
  'tool.called': (d) => ({
    word: str(d.name),
    text: firstLine(str(d.arguments)),
    tone: 'run',
    icon: '▸',
    group: 'tool',
  }),
  'tool.finished': (d) => ({
    word: str(d.name),
    text: firstLine(str(d.output)),
    tone: d.outcome === 'ok' ? 'plain' : 'bad',
    icon: d.outcome === 'ok' ? '✓' : '✗',
    isError: d.outcome !== 'ok',
    figures: [duration(num(d.durationMs))],
    group: 'tool',
  }),
  'artifact.written': (d) => ({
    word: 'artifact',
    text: `${str(d.name)} version ${str(d.version)}`,
    icon: '✎',
    group: 'tool',
  }),
  'budget.reached': (d) => ({
    word: 'budget reached',
    text: str(d.budget),
    tone: 'wait',
    icon: '▲',
    isError: true,
    group: 'task',
  }),
  'budget.raised': (d) => ({ word: 'budget raised', text: str(d.budget), group: 'task' }),
  'credential.used': (d) => ({ word: 'credential', text: str(d.credential), tone: 'muted', group: 'model' }),
  'sandbox.created': (d) => ({
    word: 'sandbox created',
    text: `${str(d.provider)} ${str(d.detail)}`,
    tone: 'muted',
    group: 'tool',
  }),
  'job.started': (d) => ({ word: str(d.job), text: firstLine(str(d.command)), tone: 'run', icon: '▸', group: 'tool' }),
  'job.ended': (d) => ({
    word: str(d.job),
    text: str(d.ending),
    tone: d.ending === 'exited' && d.exitCode === 0 ? 'plain' : 'bad',
    icon: d.ending === 'exited' && d.exitCode === 0 ? '✓' : '✗',
    figures: [num(d.exitCode) === null ? '' : `exit ${str(d.exitCode)}`, duration(num(d.durationMs))],
    group: 'tool',
  }),
  'endpoint.used': (d) => ({
    word: `endpoint ${str(d.endpoint)}`,
    text: `${str(d.connections)} connections to ${str(d.address)}`,
    tone: 'muted',
    figures: [`${amount(num(d.bytesIn))} B in`, `${amount(num(d.bytesOut))} B out`],
    group: 'tool',
  }),
  'sandbox.executed': (d) => ({
    word: str(d.op),
    text: firstLine(str(d.what)),
    tone: d.timedOut || (num(d.exitCode) ?? 0) !== 0 ? 'bad' : 'muted',
    icon: '·',
    figures: [
      d.timedOut ? 'timed out' : num(d.exitCode) === null ? '' : `exit ${str(d.exitCode)}`,
      duration(num(d.durationMs)),
    ],
    group: 'tool',
  }),
  'sandbox.snapshotted': (d) => ({ word: 'snapshot', text: str(d.name), group: 'tool' }),
  'sandbox.restored': (d) => ({ word: 'restored', text: str(d.name), tone: 'wait', group: 'tool' }),
  'sandbox.destroyed': (d) => ({ word: 'sandbox gone', text: str(d.reason), tone: 'muted', group: 'tool' }),
  'proposal.made': (d) => ({
    word: `proposes ${str(d.proposal)}`,
    text: firstLine(str(d.claim)),
    tone: 'mark',
    icon: '⚑',
    group: 'policy',
  }),
  'proposal.checked': (d) => ({
    word: `${str(d.proposal)} ${str(d.check)}`,
    text: `${str(d.verdict)}: ${firstLine(str(d.summary))}`,
    tone: d.verdict === 'pass' ? 'ok' : d.verdict === 'fail' ? 'bad' : 'wait',
    icon: d.verdict === 'pass' ? '✓' : d.verdict === 'fail' ? '✗' : '?',
    figures: [duration(num(d.durationMs))],
    group: 'policy',
  }),
  'proposal.readied': (d) => ({
    word: `${str(d.proposal)} ready`,
    text: `risk ${str(d.risk)}: waits for your verdict`,
    tone: 'wait',
    icon: '▲',
    group: 'policy',
  }),
  'proposal.reviewed': (d) => ({
    word: `${str(d.proposal)} ${str(d.verdict)}`,
    text: [`by ${str(d.by)}`, firstLine(str(d.reason))].filter(Boolean).join(': '),
    tone: d.verdict === 'rejected' ? 'bad' : 'mark',
    icon: d.verdict === 'rejected' ? '✗' : '✓',
    group: 'policy',
  }),
  'proposal.withdrawn': (d) => ({ word: `${str(d.proposal)} withdrawn`, text: str(d.reason), group: 'policy' }),
  'proposal.superseded': (d) => ({ word: `${str(d.proposal)} superseded`, text: `by ${str(d.by)}`, group: 'policy' }),
  'proposal.staled': (d) => ({ word: `${str(d.proposal)} stale`, icon: '⟳', group: 'policy' }),
  'proposal.recalled': (d) => ({
    word: `${str(d.proposal)} waits again`,
    text: 'the time until which it was put off has come',
    tone: 'wait',
    icon: '▲',
    group: 'policy',
  }),
  'proposal.expired': (d) => ({ word: `${str(d.proposal)} expired`, group: 'policy' }),
  'revision.authorised': (d) => ({
    word: 'authorised',
    text: `${shortHash(str(d.revision))} by ${str(d.by)}`,
    icon: '◇',
    group: 'policy',
  }),
  'revision.activated': (d) => ({
    word: `r${str(d.activation)} active`,
    text: [
      `${shortHash(str(d.revision))} (${str(d.cause)})`,
      d.probationSteps ? `probation ${str(d.probationSteps)} steps` : '',
    ]
      .filter(Boolean)
      .join(', '),
    tone: 'mark',
    icon: '◆',
    group: 'policy',
  }),
  'revision.activation-failed': (d) => ({
    word: 'activation failed',
    text: `${str(d.stage)}: ${str(d.error)}`,
    tone: 'bad',
    icon: '✗',
    isError: true,
    group: 'policy',
  }),
  'revision.confirmed': (d) => ({
    word: `r${str(d.activation)} confirmed`,
    text: `after ${str(d.steps)} steps`,
    tone: 'ok',
    icon: '✓',
    group: 'policy',
  }),
  'revision.rolled-back': (d) => ({
    word: 'rolled back',
    text: `r${str((d.from as Data | undefined)?.activation)} → r${str((d.to as Data | undefined)?.activation)} (${str(d.cause)})${d.reason ? `: ${str(d.reason)}` : ''}`,
    tone: 'wait',
    icon: '↩',
    group: 'policy',
  }),
  'proposal.looked': (d) => ({
    word: `${str(d.proposal)} ${d.viewed ? 'looked through' : 'to be looked through again'}`,
    text: str(d.path),
    group: 'policy',
  }),
  'proposal.opined': (d) => ({
    word: `${str(d.proposal)} opinion`,
    text: `claimed by ${str(d.model)}: ${firstLine(str(d.error ?? d.text))}`,
    group: 'policy',
  }),
  'revision.regressed': (d) => ({
    word: `r${str(d.activation)} regressed`,
    text: `${str(d.limit)} ${str(d.measured)}, bound ${str(d.bound)}, over ${str(d.steps)} steps`,
    tone: 'bad',
    icon: '✗',
    group: 'policy',
  }),
  'tool.released': (d) => ({ word: 'released', text: `${str(d.tool)}: ${str(d.reason)}`, group: 'policy' }),
  'tool.audited': (d) => ({ word: 'audited', text: str(d.tool), tone: 'ok', icon: '✓', group: 'policy' }),
  'tool.retirement-asked': (d) => ({
    word: 'retirement asked',
    text: `${str(d.tool)}: ${str(d.reason)}`,
    group: 'policy',
  }),
  'tool.quarantined': (d) => ({
    word: 'quarantined',
    text: `${str(d.tool)}: ${str(d.reason)}`,
    tone: 'wait',
    group: 'policy',
  }),
  'executor.started': (d) => ({
    word: 'executor started',
    text: `r${str(d.activation)} in ${duration(num(d.startMs))}`,
    tone: 'muted',
    group: 'host',
  }),
  'executor.stopped': (d) => ({ word: 'executor stopped', text: str(d.reason), tone: 'muted', group: 'host' }),
  'executor.crashed': (d) => ({
    word: 'executor crashed',
    text: firstLine(str(d.stderr)) || `exit ${str(d.exitCode)} ${str(d.signal)}`,
    tone: 'bad',
    icon: '✗',
    isError: true,
    group: 'host',
  }),
  'executor.hung': (d) => ({
    word: 'executor hung',
    text: `${str(d.watchdog)} after ${duration(num(d.afterMs))}`,
    tone: 'bad',
    icon: '✗',
    isError: true,
    group: 'host',
  }),
  'executor.escalated': (d) => ({
    word: 'fell back',
    text: `to ${str(d.to)}: ${str(d.reason)}`,
    tone: 'bad',
    icon: '▲',
    isError: true,
    group: 'host',
  }),
  'executor.drained': (d) => ({
    word: 'drained',
    text: `waited ${duration(num(d.waitedMs))}`,
    tone: 'muted',
    group: 'host',
  }),
  'trial.planned': (d) => ({ word: 'trial planned', text: str(d.trial), group: 'task' }),
  'trial.observed': (d) => ({
    word: 'trial observed',
    text: `${str(d.trial)} ${d.arm === 'before' ? 'active' : 'candidate'}`,
    group: 'task',
  }),
  'trial.closed': (d) => ({ word: 'trial closed', text: str(d.trial), group: 'task' }),
}

export const kindNames = Object.keys(lines) as EventKind[]

function modelLine(data: Data): Line {
  const usage = data.usage as Record<string, number> | null
  const isFailed = data.status === 'failed' || data.status === 'aborted'
  const input = usage ? (usage.uncached ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) : null
  const outputs = Array.isArray(data.output) ? (data.output as { type: string }[]) : []
  const calls = outputs.filter((item) => item.type.endsWith('_call')).length
  const said =
    calls > 0
      ? `asks for ${calls} ${calls === 1 ? 'tool' : 'tools'}`
      : outputs.length > 0
        ? 'answers'
        : str(data.status)
  return {
    word: 'model',
    text: isFailed ? firstLine(str(data.error)) : `${str(data.model)} ${said}`,
    tone: isFailed ? 'bad' : 'plain',
    icon: isFailed ? '✗' : '○',
    isError: isFailed,
    figures: [
      usage ? `${tokens(input)} → ${tokens(usage.output)}` : 'not reported',
      data.firstDifference ? '✕ cache break' : '',
      money(num(data.costNanoUsd)),
      duration(num(data.durationMs)),
    ],
    group: 'model',
  }
}

export function lineOf(event: Pick<EventRow, 'kind' | 'data'>): EventLine {
  const line = lines[event.kind](event.data)
  return { icon: '·', text: '', tone: 'plain', group: 'host', ...line, figures: (line.figures ?? []).filter(Boolean) }
}
