import { type Comment, rejectCategories } from '../../kernel/wire/events.ts'
import type { Desk } from '../host-client.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, Ended, type ExitCode, exitCode, oneOf } from './command.ts'
import { withDesk } from './desk.ts'
import { detailLines } from './proposal-lines.ts'
import { settled } from './proposals.ts'
import { inert, say, sayJson, time } from './text.ts'

export const approve: Command = {
  synopsis: 'P-n [--reason TEXT] [--override CHECK=REASON …] [--on-breach propose|rollback] [--agent A]',
  summary: 'approve a proposal that is ready: prints what it approves, then the receipt',
  notes: [
    'A check that gates and could not be decided is overridden by name, each with a reason; the revision then starts in probation.',
    'To approve some of its hunks only: exodesk part. To change it first: exodesk edit.',
    '--on-breach says what follows where it goes beyond a limit in probation (default propose).',
  ],
  async run(args) {
    const options = {
      override: { type: 'string', multiple: true },
      'on-breach': { type: 'string' },
    } as const
    const { values, ...given } = verdictArguments(args, options)
    const overrides = ((values.override as string[] | undefined) ?? []).map(overrideOf)
    const onBreach = oneOf('--on-breach', values['on-breach'] as string | undefined, ['propose', 'rollback'])
    return decide(given, (desk, view) =>
      desk.proposals.approve({
        ...view,
        ...(given.reason === undefined ? {} : { reason: given.reason }),
        ...(overrides.length === 0 ? {} : { overrides }),
        ...(onBreach === undefined ? {} : { onBreach }),
      }),
    )
  },
}

export const reject: Command = {
  synopsis: `P-n --reason TEXT [--category ${rejectCategories.join('|')}] [--agent A]`,
  summary: 'reject a proposal; the agent is told the reason',
  async run(args) {
    const { values, ...given } = verdictArguments(args, { category: { type: 'string' } })
    const category = oneOf('--category', values.category as string | undefined, rejectCategories)
    const reason = requireReason(given.reason, 'it is what the agent learns from')
    return decide(given, (desk, view) =>
      desk.proposals.reject({ ...view, reason, ...(category === undefined ? {} : { category }) }),
    )
  },
}

export const returnCommand: Command = {
  synopsis: 'P-n --reason TEXT [--comment PATH:LINE=TEXT …] [--agent A]',
  summary: 'send a proposal back to the agent to be revised, with comments on its lines',
  notes: ['--comment is on a line of what is proposed; PATH:-LINE=TEXT on one of the revision before.'],
  async run(args) {
    const { values, ...given } = verdictArguments(args, { comment: { type: 'string', multiple: true } })
    const comments = ((values.comment as string[] | undefined) ?? []).map(commentOf)
    const reason = requireReason(given.reason, 'it says what to change')
    return decide(given, (desk, view) => desk.proposals.return({ ...view, reason, comments }))
  },
}

export const defer: Command = {
  synopsis: 'P-n [--reason TEXT] [--until ISO-TIME] [--agent A]',
  summary: 'put a proposal off: it stays ready, and its time stands still until then',
  async run(args) {
    const { values, ...given } = verdictArguments(args, { until: { type: 'string' } })
    const text = values.until as string | undefined
    const until = text === undefined ? null : Date.parse(text)
    if (Number.isNaN(until))
      throw new BadArguments(`--until takes a time such as 2030-01-31T18:00Z, not ${JSON.stringify(text)}`)
    const reason = given.reason ?? ''
    return decide(given, (desk, view) => desk.proposals.defer({ ...view, reason, until }))
  },
}

interface Given {
  named: string | undefined
  proposal: string
  reason: string | undefined
  dataDir: string
  json: boolean
}
type Options = Parameters<typeof parseAgentCommand>[1]

function verdictArguments(
  args: string[],
  options: Options,
): Given & { values: { readonly [option: string]: unknown } } {
  const all = { reason: { type: 'string' as const }, ...options }
  const { values, positionals, named, dataDir, json } = parseAgentCommand(args, all, ['P-n'])
  const [proposal] = positionals as [string]
  return { named, proposal, reason: values.reason as string | undefined, dataDir, json, values }
}

function requireReason(reason: string | undefined, why: string): string {
  if ((reason ?? '').trim() === '') throw new BadArguments(`--reason is missing: ${why}`)
  return reason as string
}

function overrideOf(text: string): { check: string; reason: string } {
  const [, check, reason] = /^([\w-]+)=(.*\S.*)$/s.exec(text) ?? []
  if (check === undefined || reason === undefined)
    throw new BadArguments(`--override takes CHECK=REASON, not ${JSON.stringify(text)}`)
  return { check, reason }
}

function commentOf(text: string): Comment {
  const [, path, side, line, said] = /^([^:=]+):(-?)(\d+)=(.*\S.*)$/s.exec(text) ?? []
  if (path === undefined || said === undefined)
    throw new BadArguments(`--comment takes PATH:LINE=TEXT, not ${JSON.stringify(text)}`)
  return { path, side: side === '-' ? 'before' : 'after', line: Number(line), text: said }
}

type View = { agent: string; proposal: string } & Pick<
  Awaited<ReturnType<Desk['proposals']['view']>>,
  'nonce' | 'binding'
>
type Receipt = { seq: number; state: string; before: string; after: string }

/** Gives the verdict, and prints what it was about and the receipt. One that is refused prints why, and nothing else. */
function decide(
  { named, proposal, dataDir, json }: Given,
  give: (desk: Desk, view: View) => Promise<Receipt>,
): Promise<ExitCode> {
  return withDesk(dataDir, async ({ desk }) => {
    const agent = await agentOf(desk, named)
    // What is printed is what the nonce binds to: a change in between makes the verdict fail.
    const { nonce, binding } = await desk.proposals.view({ agent, proposal })
    const detail = await desk.proposals.get({ agent, proposal })
    if (detail.revision !== binding.revision)
      throw new Ended(exitCode.doesNotHold, `${proposal} changed while it was read: look at it again`)
    const receipt = await give(desk, { agent, proposal, nonce, binding })
    if (!json) for (const line of detailLines(detail)) say(line)
    const after = await settled(desk, agent, proposal)
    const active = after.active.revision
    if (json) sayJson({ agent, proposal, ...receipt, state: after.state, after: active })
    else {
      const until = after.deferredUntil === null ? '' : `, put off until ${time(after.deferredUntil)}`
      const reason = after.reason === null ? '' : `: ${inert(after.reason)}`
      say(`${proposal} is ${after.state}${until}${reason} (event ${receipt.seq})`)
      say(`active before ${receipt.before}`)
      say(`active after  ${active}${active === receipt.before ? '  (unchanged)' : `  (r${after.active.activation})`}`)
    }
    return ['activation-failed', 'stale'].includes(after.state) ? exitCode.doesNotHold : exitCode.done
  })
}
