import { createHash, randomBytes } from 'node:crypto'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { type Binding, draft, type EventData } from '../wire/events.ts'
import type { Activation } from './activation.ts'
import { type Core, within } from './core.ts'
import type { VerdictInput, VerdictReceipt } from './guardian.ts'
import { type ProposalRecord, short } from './state.ts'

/** Views open at one time; the oldest gives way. */
const noncesMax = 256

interface View {
  agent: string
  proposal: string
  binding: Binding
  openedAt: number
}

/**
 * The operator's verdicts. One holds for the exact bytes and judgements that the view showed, once: its nonce lives in
 * this process's memory only, and is spent by the first verdict that brings it, whatever comes of it.
 */
export function createReview(core: Core, activation: Activation) {
  const { ledger } = core
  const { history, clock } = core.parts
  const views = new Map<string, View>()

  function bindingOf(agent: string, { revision, checks }: ProposalRecord): Binding {
    const hash = createHash('sha256')
    for (const check of checks) hash.update(check.hash)
    return {
      revision,
      base: ledger.mustBeActive(agent).revision,
      checks: hash.digest('hex'),
      profile: core.profile.hash,
    }
  }

  /** Why it cannot be approved now; null when it can. */
  function blocked(agent: string, proposal: string): string | null {
    const one = ledger.proposal(agent, proposal)
    const active = ledger.mustBeActive(agent)
    if (one.state === 'checking') return 'its checks are still running'
    if (one.state !== 'ready') return `it is ${one.state}${one.reason === null ? '' : `: ${one.reason}`}`
    const change = core.changing.get(agent)
    if (change !== undefined) return `${change.what} is under way: wait until it is done`
    if (active.state === 'probation') {
      const left = Math.max(0, active.probationSteps - active.steps)
      return `r${active.activation} is in probation for ${left} more steps: this one can be approved when that ends (or after a rollback)`
    }
    if (one.base !== active.revision) return `it was made from ${short(one.base)}, which is not active any more`
    return null
  }

  function lookAgain(why: string): KernelError {
    return new KernelError('conflict', `${why}. Nothing was decided: look again`)
  }

  /** Takes the nonce, and the proposal that it was good for. @throws KernelError `conflict`. */
  function spend(input: VerdictInput): { one: ProposalRecord; viewedMs: number; binding: Binding } {
    const view = views.get(input.nonce)
    views.delete(input.nonce)
    if (view === undefined) throw lookAgain('this view has been used or was never opened here')
    if (view.agent !== input.agent || view.proposal !== input.proposal)
      throw lookAgain(`this view was opened for ${view.proposal} of ${view.agent}`)
    const one = ledger.proposal(input.agent, input.proposal)
    if (one.state !== 'ready') throw lookAgain(`${one.proposal} is ${one.state}`)
    const now = bindingOf(input.agent, one)
    for (const part of ['revision', 'base', 'checks', 'profile'] as const) {
      if (input.binding[part] !== view.binding[part])
        throw lookAgain(`the verdict is for another ${part} than the view showed`)
      if (input.binding[part] !== now[part]) throw lookAgain(`the ${part} is not what the view showed any more`)
    }
    return { one, binding: now, viewedMs: Math.max(0, Math.round(clock.monotonic() - view.openedAt)) }
  }

  /** Under the lock: the verdict and the authorisation in one commit, then the change. */
  async function authorise(
    agent: string,
    one: ProposalRecord,
    by: 'operator' | 'flag',
    binding: Binding,
    reason: string,
    viewedMs: number | null,
  ) {
    const { proposal, revision, task } = one
    const expected = ledger.mustBeActive(agent)
    const header = { actor: by === 'operator' ? ('operator' as const) : ('kernel' as const), agent, task }
    const verdict: EventData<'proposal.reviewed'> = { proposal, verdict: 'approved', reason, by, binding, viewedMs }
    failpoint('review:before-approved')
    const [event] = await history.appendIfActive(agent, binding.base, [
      draft('proposal.reviewed', verdict, header),
      draft('revision.authorised', { revision, by, proposal }, header),
    ])
    return { seq: event?.seq ?? 0, work: resume(agent, one, expected) }
  }

  function resume(agent: string, { proposal, revision }: ProposalRecord, expected = ledger.mustBeActive(agent)) {
    const change = { agent, revision, cause: 'proposal' as const, proposal, alongside: [], expected }
    return activation.begin(change, `the activation of ${proposal}`)
  }

  return {
    blocked,

    /** The proposal's state with what happens just now, which no event says yet. */
    stateOf(agent: string, one: ProposalRecord): ProposalRecord['state'] {
      const isActivating = one.state === 'approved' && core.changing.get(agent)?.proposal === one.proposal
      return isActivating ? 'activating' : one.state
    },

    view(agent: string, proposal: string) {
      const one = ledger.proposal(agent, proposal)
      if (one.state !== 'ready')
        throw new KernelError('conflict', `${proposal} is ${one.state}: a verdict is possible only while it is ready`)
      const nonce = randomBytes(16).toString('hex')
      const binding = bindingOf(agent, one)
      views.set(nonce, { agent, proposal, binding, openedAt: clock.monotonic() })
      for (const oldest of views.keys()) {
        if (views.size <= noncesMax) break
        views.delete(oldest)
      }
      return { nonce, binding, issuedAt: clock.now() }
    },

    async approve(input: VerdictInput): Promise<VerdictReceipt> {
      core.requireOpen()
      const { agent, proposal } = input
      const before = ledger.mustBeActive(agent).revision
      const { seq, work } = await ledger.locked(agent, async () => {
        const { one, binding, viewedMs } = spend(input)
        const why = blocked(agent, proposal)
        if (why !== null) throw lookAgain(`${proposal} cannot be approved now: ${why}`)
        return authorise(agent, one, 'operator', binding, input.reason, viewedMs)
      })
      await within(core.activationWaitMs, core.closing, work)
      const one = ledger.proposal(agent, proposal)
      return { seq, state: this.stateOf(agent, one), before, after: ledger.mustBeActive(agent).revision }
    },

    async reject(input: VerdictInput): Promise<VerdictReceipt> {
      core.requireOpen()
      const { agent, proposal, reason } = input
      if (reason.trim() === '')
        throw new KernelError('invalid', 'a rejection needs a reason: it is what the agent learns from')
      return ledger.locked(agent, async () => {
        const { one, binding, viewedMs } = spend(input)
        const data = { proposal, verdict: 'rejected' as const, reason, by: 'operator' as const, binding, viewedMs }
        failpoint('review:before-rejected')
        const [event] = await history.append([
          draft('proposal.reviewed', data, { actor: 'operator', agent, task: one.task }),
        ])
        const { revision } = ledger.mustBeActive(agent)
        return {
          seq: event?.seq ?? 0,
          state: ledger.proposal(agent, proposal).state,
          before: revision,
          after: revision,
        }
      })
    },

    /** Where the task that a ready proposal was made in runs with `--approve all`: the flag is its verdict. */
    async approveByFlag(agent: string): Promise<void> {
      await ledger.locked(agent, async () => {
        const target = core.targets.get(agent)
        if (target?.approve !== 'all' || core.closing.aborted) return
        const one = ledger.state(agent).proposals.find(({ state, task }) => state === 'ready' && task === target.task)
        if (one === undefined || blocked(agent, one.proposal) !== null) return
        await authorise(agent, one, 'flag', bindingOf(agent, one), 'the run approves every proposal', null)
      })
    },

    /** Takes up an approval whose activation a kill, or the end of the app, cut off. True: there was one. */
    async takeUp(agent: string): Promise<boolean> {
      return ledger.locked(agent, async () => {
        const one = ledger.state(agent).proposals.find(({ state }) => state === 'approved')
        if (one === undefined || core.changing.has(agent) || core.closing.aborted) return false
        if (one.base === ledger.mustBeActive(agent).revision) void resume(agent, one).catch(() => {})
        else await history.append([overtaken(agent, one)])
        return true
      })
    },
  }
}

/** The approval was for a change of a revision that has not stayed. */
function overtaken(agent: string, { proposal, revision, task }: ProposalRecord) {
  const error = 'another revision became active before it could take over: propose it again'
  const data = { revision, proposal, stage: 'commit' as const, error }
  return draft('revision.activation-failed', data, { actor: 'kernel', agent, task })
}

export type Review = ReturnType<typeof createReview>
