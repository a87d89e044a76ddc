import { KernelError } from '../errors.ts'
import type { PolicyOrigin } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { IntakeProblem, IntakeResult, TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { PolicyProposeParams, PolicyProposeResult, ProposalState } from '../wire/executor.ts'
import type { Checking } from './checking.ts'
import { recurrenceOf } from './checks/check.ts'
import { kernelFileNames, treeProblems } from './checks/scope.ts'
import type { Core } from './core.ts'
import { decidedBefore, turnedDown } from './recurrence.ts'
import { short, waiting } from './state.ts'
import type { WorkingCopies } from './working-copy.ts'

const evidenceMax = 100
const problemsKept = 50
/** By an executor in one task: each is kept for good, and each asks for a person's time. */
const proposalsPerTask = 100

type Header = Pick<EventDraft, 'actor'> & Partial<EventDraft>
type Claim = Pick<PolicyProposeParams, 'claim' | 'why'> & { evidence: number[]; expects: string | null }

/** How proposals are made and withdrawn. Making one changes nothing that runs. */
export function createProposing(core: Core, copies: WorkingCopies, checking: Checking) {
  const { ledger } = core
  const { history, revisions } = core.parts

  async function make(
    agent: string,
    tree: IntakeResult,
    base: string,
    by: 'executor' | 'operator',
    said: Claim,
    header: Header,
  ): Promise<PolicyProposeResult> {
    const active = ledger.mustBeActive(agent).revision
    const revision = tree.ok ? await revisions.put(tree.files) : active
    if (tree.ok && revision === active)
      throw new KernelError('invalid', `nothing changed: this is the active revision ${short(active)} as it is`)
    const files = tree.ok ? await revisions.changes(active, revision) : []
    const sizeBytes = tree.ok ? tree.files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) : 0
    failpoint('propose:stored')
    const made = await ledger.locked(agent, async () => {
      const state = ledger.state(agent)
      const now = ledger.mustBeActive(agent).revision
      const proposal = `P-${state.proposals.length + 1}`
      const problems = tree.ok ? [] : tree.problems.slice(0, problemsKept)
      const place = { ...header, agent }
      const drafts: EventDraft[] = [
        draft(
          'proposal.made',
          { proposal, revision, base: tree.ok ? base : revision, by, files, sizeBytes, problems, ...said },
          place,
        ),
      ]
      const duplicate = tree.ok && by === 'executor' ? decidedBefore(core, agent, revision) : null
      if (!tree.ok) drafts.push(refusal(proposal, problems, place))
      else if (duplicate !== null)
        drafts.push(draft('proposal.withdrawn', { proposal, reason: duplicate }, { ...place, actor: 'kernel' }))
      else if (base !== now)
        drafts.push(draft('proposal.staled', { proposal, base, active: now }, { ...place, actor: 'kernel' }))
      // One waits at a time. A verdict in progress goes on: what is approved is no longer waiting.
      else {
        for (const one of waiting(state))
          drafts.push(
            draft('proposal.superseded', { proposal: one.proposal, by: proposal }, { ...place, actor: 'kernel' }),
          )
      }
      failpoint('propose:before-made')
      await history.append(drafts)
      failpoint('propose:after-made')
      return proposal
    })
    const { state, reason } = ledger.proposal(agent, made)
    if (state === 'checking') checking.start(agent, made)
    const again = tree.ok ? recurrenceOf(await turnedDown(core, agent, { proposal: made, revision, base })) : null
    const note = state === 'withdrawn' ? reason : again
    return { proposal: made, revision, state, ...(note === null ? {} : { note }) }
  }

  async function checkEvidence(agent: string, evidence: readonly number[]): Promise<number[]> {
    const seqs = [...new Set(evidence)]
    if (seqs.length > evidenceMax)
      throw new KernelError('invalid', `at most ${evidenceMax} events can be named as evidence`)
    const found = await Promise.all(seqs.map((seq) => history.get({ agent }, seq)))
    const unknown = seqs.filter((_, index) => found[index] === null)
    if (unknown.length > 0)
      throw new KernelError(
        'invalid',
        `evidence names events that are not in this agent's history: ${unknown.join(', ')}`,
      )
    return seqs
  }

  return {
    async propose(where: PolicyOrigin, params: PolicyProposeParams): Promise<PolicyProposeResult> {
      core.requireOpen()
      const { agent, task, generation, turn, step, revision } = where
      const target = core.targets.get(agent)
      if (target?.task !== task)
        throw new KernelError('conflict', `${task} is not running any more: propose in a task that runs`)
      if (!target.context().brief.propose)
        throw new KernelError('forbidden', 'this run takes no proposals (it is a control run)')
      const made = ledger.state(agent).proposals.filter((one) => one.task === task && one.by === 'executor').length
      if (made >= proposalsPerTask)
        throw new KernelError('over-budget', `${made} proposals were made in this task, and no more are taken`)
      const evidence = await checkEvidence(agent, params.evidence ?? [])
      const [base, copy] = await Promise.all([copies.base(agent, task), copies.read(where.box)])
      const tree = usable(copy)
      const said = { claim: params.claim, why: params.why, evidence, expects: params.expects ?? null }
      const header = { actor: 'executor', task, run: 'task', generation, turn, step, revision } as const
      return make(agent, tree, base, 'executor', said, header)
    },

    async submit(agent: string, files: readonly TreeFile[], why: string, claim: string) {
      core.requireOpen()
      const given = files.filter(({ path }) => !kernelFileNames.includes(path))
      const tree = usable({ ok: true, files: [...given] })
      const said = { claim, why, evidence: [], expects: null }
      return make(agent, tree, ledger.mustBeActive(agent).revision, 'operator', said, { actor: 'operator' })
    },

    async withdraw(agent: string, proposal: string, by: 'executor' | 'operator'): Promise<ProposalState> {
      await ledger.locked(agent, async () => {
        const one = ledger.proposal(agent, proposal)
        if (by === 'executor' && one.by === 'operator')
          throw new KernelError('forbidden', `${proposal} is the operator's: only the operator withdraws it`)
        if (one.state !== 'checking' && one.state !== 'ready')
          throw new KernelError('conflict', `${proposal} is ${one.state}: only one that waits can be withdrawn`)
        const reason = `withdrawn by the ${by === 'operator' ? 'operator' : 'agent'}`
        await history.append([draft('proposal.withdrawn', { proposal, reason }, { actor: by, agent, task: one.task })])
      })
      return ledger.proposal(agent, proposal).state
    },
  }
}

/** A tree that no revision can have, an empty one for instance, is refused like one that cannot be read. */
function usable(tree: IntakeResult): IntakeResult {
  const problems = tree.ok ? treeProblems(tree.files) : []
  return problems.length > 0 ? { ok: false, problems } : tree
}

function refusal(proposal: string, problems: readonly IntakeProblem[], place: Header): EventDraft<'proposal.checked'> {
  const [first] = problems
  const more = problems.length > 1 ? `; and ${problems.length - 1} more` : ''
  const summary = `${first?.path}: ${first?.problem}${more}`
  const details = { problems: problems.map(({ path, problem }) => ({ path, problem })) }
  const data = { proposal, check: 'scope', verdict: 'fail' as const, summary, details, durationMs: 0 }
  return draft('proposal.checked', data, { ...place, actor: 'kernel', run: 'check' })
}
