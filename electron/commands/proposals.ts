import type { ProposalDetail, ProposalSummary } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { BadArguments, type Command, exitCode, missing, parseCommand } from './command.ts'
import { withDesk } from './desk.ts'
import { inert, inertLines, say, sayJson, short, table, time } from './text.ts'
import { readTree } from './tree.ts'

type State = ProposalSummary['state']
/** States that the kernel leaves by itself, soon. */
const moving: readonly State[] = ['checking', 'approved', 'activating']

export const propose: Command = {
  synopsis: '--agent A --tree DIR --why TEXT [--claim TEXT]',
  summary: 'propose a folder as the policy of an agent, and wait for its checks',
  notes: [
    'An agent that does not exist is created first, with the starting policy as r1.',
    'Exit code 1 where the proposal fails its checks. Nothing takes effect before it is approved.',
  ],
  async run(args) {
    const options = {
      agent: { type: 'string' },
      tree: { type: 'string' },
      why: { type: 'string' },
      claim: { type: 'string' },
    }
    const { values, dataDir, json } = parseCommand(args, options as Record<string, { type: 'string' }>)
    const { agent, tree: dir, why, claim } = values as Record<string, string | undefined>
    if (agent === undefined || dir === undefined || why === undefined)
      throw new BadArguments('--agent, --tree and --why are all needed')
    const tree = await readTree(dir)
    return withDesk(dataDir, async ({ desk }) => {
      const made = await desk.proposals.submit({ agent, tree, why, ...(claim === undefined ? {} : { claim }) })
      const { state, checks, unresolved } = await settled(desk, agent, made.proposal)
      if (json) sayJson({ proposal: made.proposal, revision: made.revision, state })
      else {
        say(`${made.proposal} of ${agent} is ${state} (revision ${short(made.revision)})`)
        for (const line of checkLines(checks)) say(line)
        if (made.note !== undefined) say(`It is ${inert(made.note, 1000)}.`)
        if (state === 'ready') {
          say(hint(`Approve it with: exodesk approve ${agent} ${made.proposal}${overrides(unresolved)}`))
        }
      }
      return state === 'failed-checks' ? exitCode.doesNotHold : exitCode.done
    })
  },
}

export const proposals: Command = {
  synopsis: '[AGENT P-n] [--agent A] [--all]',
  summary: 'list the proposals that wait for a verdict (or --all), or show one with its evidence and its diff',
  async run(args) {
    const options = { agent: { type: 'string' }, all: { type: 'boolean' } } as const
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['AGENT?', 'P-n?'])
    const [agent, proposal] = positionals
    if (agent !== undefined && proposal === undefined) throw missing(['AGENT', 'P-n'], positionals)
    return withDesk(dataDir, async ({ desk }) => {
      if (agent !== undefined && proposal !== undefined) {
        const detail = await desk.proposals.get({ agent, proposal })
        const { diff } = await desk.revisions.compare({ from: detail.base, to: detail.revision })
        if (json) sayJson({ ...detail, diff })
        else for (const line of [...detailLines(detail), '', inertLines(diff)]) say(line)
        return exitCode.done
      }
      const found = await desk.proposals.list({
        ...(typeof values.agent === 'string' ? { agent: values.agent } : {}),
        ...(values.all === true ? {} : { waiting: true }),
      })
      if (json) for (const row of found) sayJson(row)
      else say(found.length === 0 ? 'No proposal waits for a verdict.' : proposalTable(found))
      return exitCode.done
    })
  },
}

export const rollback: Command = {
  synopsis: 'AGENT rN [--reason TEXT] [--preview]',
  summary: 'make the content of an earlier activation active again, as a new activation',
  async run(args) {
    const options = { reason: { type: 'string' }, preview: { type: 'boolean' } } as const
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['AGENT', 'rN'])
    const [agent, name] = positionals as [string, string]
    const activation = Number(/^r?(\d+)$/.exec(name)?.[1])
    if (!(activation > 0)) throw new BadArguments(`${JSON.stringify(name)} is not an activation such as r1`)
    return withDesk(dataDir, async ({ desk }) => {
      const preview = await desk.revisions.rollbackPreview({ agent, activation })
      if (!json || values.preview === true) {
        if (json) sayJson(preview)
        else {
          say(
            `from r${preview.from.activation} ${short(preview.from.revision)} to the content of r${preview.to.activation} ${short(preview.to.revision)}`,
          )
          for (const line of [...fileLines(preview.files), ...preview.effects.map((effect) => `  ${inert(effect)}`)])
            say(line)
        }
      }
      if (values.preview === true) return exitCode.done
      const reason = values.reason as string | undefined
      const done = await desk.revisions.rollback({
        agent,
        activation,
        expectActive: preview.from.revision,
        ...(reason === undefined ? {} : { reason }),
      })
      if (json) sayJson({ agent, ...done, before: preview.from.revision })
      else
        say(
          `r${done.activation} is active: ${done.revision} (event ${done.seq}). ${hint(`Undo with: exodesk rollback ${agent} r${preview.from.activation}`)}`,
        )
      return exitCode.done
    })
  },
}

export const revisions: Command = {
  synopsis: 'AGENT',
  summary: 'list the activations of an agent: what was active when, why, and what it cost',
  async run(args) {
    const { positionals, dataDir, json } = parseCommand(args, {}, ['AGENT'])
    return withDesk(dataDir, async ({ desk }) => {
      const rows = await desk.revisions.list({ agent: positionals[0] as string })
      if (json) for (const row of rows) sayJson(row)
      else
        say(
          table(
            ['', 'revision', 'state', 'cause', 'by', 'since', 'steps', 'progress'],
            rows.map((row) => [
              `r${row.activation}`,
              short(row.revision),
              row.state,
              row.proposal ?? row.cause,
              row.authorisedBy,
              time(row.at),
              row.steps,
              row.progressDelta === null ? '—' : `+${row.progressDelta}`,
            ]),
          ),
        )
      return exitCode.done
    })
  },
}

/** The proposal once the kernel has nothing more to do with it by itself. */
export async function settled(desk: Desk, agent: string, proposal: string): Promise<ProposalDetail> {
  const stop = new AbortController()
  try {
    const { lastSeq } = await desk.host.status()
    let detail = await desk.proposals.get({ agent, proposal })
    if (!moving.includes(detail.state)) return detail
    for await (const _batch of await desk.events.follow({ after: lastSeq, agent }, { signal: stop.signal })) {
      detail = await desk.proposals.get({ agent, proposal })
      if (!moving.includes(detail.state)) return detail
    }
    return detail
  } finally {
    stop.abort()
  }
}

function proposalTable(rows: readonly ProposalSummary[]): string {
  return table(
    ['agent', 'proposal', 'state', 'risk', 'files', 'made', 'claims'],
    rows.map((row) => [
      row.agent,
      row.proposal,
      row.state,
      row.risk ?? '—',
      `${row.files.length} +${row.addedLines} −${row.removedLines}`,
      time(row.madeAt),
      `"${inert(row.claim, 80)}"`,
    ]),
  )
}

/** What `approve` is told about checks that could not be decided. */
const overrides = (checks: readonly string[]) => checks.map((check) => ` --override ${check}=REASON`).join('')

/** Measured first; what the agent says is quoted and comes last. */
export function detailLines(detail: ProposalDetail): string[] {
  return [
    `${detail.proposal} of ${detail.agent}: ${detail.state}, risk ${detail.risk ?? 'not known yet'}`,
    ...detail.riskReasons.map((reason) => `  risk: ${inert(reason)}`),
    `  revision ${detail.revision}`,
    `  base     ${detail.base}${detail.base === detail.active.revision ? ` (active, r${detail.active.activation})` : ''}`,
    ...fileLines(detail.files),
    ...detail.problems.map(({ path, problem }) => `  refused: ${inert(path)}: ${inert(problem)}`),
    ...checkLines(detail.checks),
    ...detail.pendingChecks.map((check) => `  check ${check}: not done`),
    ...(detail.unresolved.length === 0 ? [] : [`  not decided: an approval needs${overrides(detail.unresolved)}`]),
    ...(detail.blocked === null ? [] : [`  no verdict now: ${inert(detail.blocked)}`]),
    ...(detail.state !== 'ready' || detail.expiresAt === null ? [] : [`  expires ${time(detail.expiresAt)}`]),
    ...(detail.deferredUntil === null ? [] : [`  put off until ${time(detail.deferredUntil)}`]),
    ...lineageLines(detail),
    ...detail.comments.map(({ path, side, line, text }) => {
      return `  comment on ${inert(path)}:${line}${side === 'before' ? ' (as it was)' : ''}: ${inert(text)}`
    }),
    ...detail.triggers.map(({ seq, kind, text }) => `  evidence: event ${seq} ${kind}: "${inert(text)}"`),
    `  ${detail.by === 'executor' ? 'the agent' : 'the operator'} claims: "${inert(detail.claim)}"`,
    `  why: "${inert(detail.why, 1000)}"`,
  ]
}

/** What it was made from or into, and what became of the one before it. */
function lineageLines({ derivedFrom, derivedTo, predecessor, category }: ProposalDetail): string[] {
  return [
    ...(derivedFrom === null
      ? []
      : [
          `  made by the operator out of ${derivedFrom.proposal}: ${derivedFrom.agentLines} lines of the agent, ${derivedFrom.operatorLines} of the operator`,
        ]),
    ...(derivedTo === null ? [] : [`  the operator made ${derivedTo} out of it`]),
    ...(category === null ? [] : [`  rejected as ${category}`]),
    ...(predecessor === null
      ? []
      : [
          `  before it, ${predecessor.proposal} was ${predecessor.state}${predecessor.isSameContent ? ', with the same change' : ''}${predecessor.reason === null ? '' : `: ${inert(predecessor.reason)}`}`,
        ]),
  ]
}

function checkLines(checks: ProposalDetail['checks']): string[] {
  return checks.map(({ check, verdict, summary }) => `  check ${check}: ${verdict}: ${inert(summary)}`)
}

function fileLines(files: ProposalSummary['files']): string[] {
  return files.map((file) => `  ${file.change} ${inert(file.path)} +${file.addedLines} −${file.removedLines}`)
}
