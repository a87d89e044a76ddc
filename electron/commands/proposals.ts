import type { ProposalDetail, ProposalSummary } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, exitCode } from './command.ts'
import { withDesk } from './desk.ts'
import { checkLines, detailLines, fileLines, overrides } from './proposal-lines.ts'
import { inert, inertLines, say, sayJson, short, table, time } from './text.ts'
import { readTree } from './tree.ts'

type State = ProposalSummary['state']
/** States that the kernel leaves by itself, soon. */
const moving: readonly State[] = ['checking', 'approved', 'activating']

export const propose: Command = {
  synopsis: '--tree DIR --why TEXT [--claim TEXT] [--agent A]',
  summary: 'propose a folder as the policy of an agent, and wait for its checks',
  notes: [
    'An agent that does not exist is created first, with the starting policy as r1.',
    'Exit code 1 where the proposal fails its checks. Nothing takes effect before it is approved.',
  ],
  async run(args) {
    const options = { tree: { type: 'string' }, why: { type: 'string' }, claim: { type: 'string' } } as const
    const { values, named, dataDir, json } = parseAgentCommand(args, options)
    const { tree: dir, why, claim } = values as Record<string, string | undefined>
    if (dir === undefined || why === undefined) throw new BadArguments('--tree and --why are both needed')
    const tree = await readTree(dir)
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      const made = await desk.proposals.submit({ agent, tree, why, ...(claim === undefined ? {} : { claim }) })
      const { state, checks, unresolved } = await settled(desk, agent, made.proposal)
      if (json) sayJson({ proposal: made.proposal, revision: made.revision, state })
      else {
        say(`${made.proposal} of ${agent} is ${state} (revision ${short(made.revision)})`)
        for (const line of checkLines(checks)) say(line)
        if (made.note !== undefined) say(`It is ${inert(made.note, 1000)}.`)
        if (state === 'ready') {
          say(hint(`Approve it with: exodesk approve ${made.proposal} --agent ${agent}${overrides(unresolved)}`))
        }
      }
      return state === 'failed-checks' ? exitCode.doesNotHold : exitCode.done
    })
  },
}

export const proposals: Command = {
  synopsis: '[P-n] [--agent A] [--all]',
  summary: 'list the proposals that wait for a verdict (or --all), or show one with its evidence and its diff',
  async run(args) {
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, { all: { type: 'boolean' } }, [
      'P-n?',
    ])
    const [proposal] = positionals
    return withDesk(dataDir, async ({ desk }) => {
      if (proposal !== undefined) {
        const agent = await agentOf(desk, named)
        const detail = await desk.proposals.get({ agent, proposal })
        const trials = await desk.trials.list({ agent, proposal })
        const { diff } = await desk.revisions.compare({ from: detail.base, to: detail.revision })
        if (json) sayJson({ ...detail, trials, diff })
        else for (const line of [...detailLines(detail, trials), '', inertLines(diff)]) say(line)
        return exitCode.done
      }
      const found = await desk.proposals.list({
        ...(named === undefined ? {} : { agent: named }),
        ...(values.all === true ? {} : { waiting: true }),
      })
      if (json) for (const row of found) sayJson(row)
      else if (found.length > 0) say(proposalTable(found))
      else say(values.all === true ? 'There is no proposal yet.' : 'No proposal waits for a verdict.')
      return exitCode.done
    })
  },
}

export const rollback: Command = {
  synopsis: 'rN [--reason TEXT] [--preview] [--agent A]',
  summary: 'make the content of an earlier activation active again, as a new activation',
  async run(args) {
    const options = { reason: { type: 'string' }, preview: { type: 'boolean' } } as const
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, options, ['rN'])
    const activation = Number((positionals[0] as string).slice(1))
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
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
          `r${done.activation} is active: ${done.revision} (event ${done.seq}). ${hint(`Undo with: exodesk rollback r${preview.from.activation} --agent ${agent}`)}`,
        )
      return exitCode.done
    })
  },
}

export const revisions: Command = {
  synopsis: '[--agent A]',
  summary: 'list the activations of an agent: what was active when, why, and what it cost',
  async run(args) {
    const { named, dataDir, json } = parseAgentCommand(args, {})
    return withDesk(dataDir, async ({ desk }) => {
      const rows = await desk.revisions.list({ agent: await agentOf(desk, named) })
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
