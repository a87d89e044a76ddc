import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventData } from '../wire/events.ts'
import { hasWords } from '../wire/operator-review.ts'
import type { Activation } from './activation.ts'
import { type Bindings, lookAgain, type Spent } from './binding.ts'
import { type Core, within } from './core.ts'
import type { ApproveInput, DeferInput, RejectInput, ReturnInput, VerdictInput, VerdictReceipt } from './guardian.ts'
import type { Rules } from './rules.ts'
import type { ProposalRecord } from './state.ts'

type Reviewed = EventData<'proposal.reviewed'>

/** An event holds 256 KiB; beside this there are a reason, overrides and file names. */
const saidBytes = 128 * 1024

/** Verdicts: the operator's on what a view showed, and those that a flag of the run or a rule gives in their place. */
export function createReview(core: Core, bindings: Bindings, activation: Activation, rules: Rules) {
  const { ledger } = core
  const { history, revisions, clock } = core.parts

  /** Under the lock: the verdict and the authorisation in one commit, then the change. */
  async function authorise(agent: string, one: ProposalRecord, verdict: Omit<Reviewed, 'proposal' | 'verdict'>) {
    const { proposal, revision, task } = one
    const { by, binding } = verdict
    const expected = ledger.mustBeActive(agent)
    const header = { actor: by === 'operator' ? ('operator' as const) : ('kernel' as const), agent, task }
    failpoint('review:before-approved')
    const [event] = await history.appendIfActive(agent, binding.base, [
      draft('proposal.reviewed', { proposal, verdict: 'approved', ...verdict }, header),
      draft('revision.authorised', { revision, by, proposal }, header),
    ])
    return { seq: event?.seq ?? 0, work: resume(agent, one, expected) }
  }

  function resume(agent: string, { proposal, revision }: ProposalRecord, expected = ledger.mustBeActive(agent)) {
    const change = { agent, revision, cause: 'proposal' as const, proposal, alongside: [], expected }
    return activation.begin(change, `the activation of ${proposal}`)
  }

  /** A verdict that changes nothing that runs. */
  async function settle(
    input: VerdictInput,
    verdict: Exclude<Reviewed['verdict'], 'approved'>,
    extra: (spent: Spent) => Partial<Reviewed>,
  ): Promise<VerdictReceipt> {
    core.requireOpen()
    const { agent, proposal, reason } = input
    return ledger.locked(agent, async () => {
      const spent = bindings.spend(input)
      const { one, binding, viewedMs } = spent
      const data = { proposal, verdict, reason, by: 'operator' as const, binding, viewedMs, ...extra(spent) }
      if (verdict === 'rejected') failpoint('review:before-rejected')
      else if (verdict === 'returned') failpoint('review:before-returned')
      else failpoint('review:before-deferred')
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
  }

  return {
    blocked: bindings.blocked,

    /** The proposal's state with what happens just now, which no event says yet. */
    stateOf(agent: string, one: ProposalRecord): ProposalRecord['state'] {
      const isActivating = one.state === 'approved' && core.changing.get(agent)?.proposal === one.proposal
      return isActivating ? 'activating' : one.state
    },

    async approve(input: ApproveInput): Promise<VerdictReceipt> {
      core.requireOpen()
      const { agent, proposal, reason, looked, onBreach = 'propose' } = input
      const before = ledger.mustBeActive(agent).revision
      const { seq, work } = await ledger.locked(agent, async () => {
        const { one, binding, viewedMs } = bindings.spend(input)
        const why = bindings.blocked(agent, proposal)
        if (why !== null) throw lookAgain(`${proposal} cannot be approved now: ${why}`)
        const overrides = overridesOf(one, input.overrides ?? [])
        const extras = {
          ...(overrides.length === 0 ? {} : { overrides }),
          ...(looked === undefined ? {} : { looked }),
        }
        return authorise(agent, one, { by: 'operator', binding, reason, viewedMs, onBreach, ...extras })
      })
      await within(core.activationWaitMs, core.closing, work)
      const one = ledger.proposal(agent, proposal)
      return { seq, state: this.stateOf(agent, one), before, after: ledger.mustBeActive(agent).revision }
    },

    async reject(input: RejectInput): Promise<VerdictReceipt> {
      requireWords(input.reason, 'a rejection')
      return settle(input, 'rejected', () => (input.category === undefined ? {} : { category: input.category }))
    },

    /** Back to its proposer, to be revised. @throws KernelError `invalid` for a comment on a line that there is not. */
    async sendBack(input: ReturnInput): Promise<VerdictReceipt> {
      requireWords(input.reason, 'a return')
      const { base, revision } = ledger.proposal(input.agent, input.proposal)
      const [before, after] = await Promise.all([revisions.read(base), revisions.read(revision)])
      requireLines(input.comments, { before, after })
      requireRoom(input.comments, 'the comments')
      return settle(input, 'returned', () => ({ comments: [...input.comments] }))
    },

    /** It stays ready. */
    async defer(input: DeferInput): Promise<VerdictReceipt> {
      const { until } = input
      if (until !== null && until <= clock.now())
        throw new KernelError('invalid', 'a deferral until a moment that is past puts nothing off: give a later one')
      return settle(input, 'deferred', () => ({ until }))
    },

    /** Where the task that a ready proposal was made in runs with `--approve all`, or `rules`: the flag, or a rule, is its verdict. */
    async approveByItself(agent: string): Promise<void> {
      await ledger.locked(agent, async () => {
        const target = core.targets.get(agent)
        if (target === undefined || target.approve === 'none' || core.closing.aborted) return
        const one = ledger.state(agent).proposals.find((each) => {
          return each.state === 'ready' && each.task === target.task && each.by === 'executor'
        })
        // What could not be decided is for a person, whatever the run says.
        if (one === undefined || one.unresolved.length > 0 || bindings.blocked(agent, one.proposal) !== null) return
        const binding = bindings.of(agent, one)
        if (target.approve === 'all') {
          await authorise(agent, one, {
            by: 'flag',
            binding,
            reason: 'the run approves every proposal',
            viewedMs: null,
          })
          return
        }
        const rule = await rules.covering(agent, one)
        if (rule === null) return
        const reason = `rule ${rule} covers it: LOW, and within its bounds`
        await authorise(agent, one, { by: 'rule', binding, reason, viewedMs: null, rule })
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

/** Each unresolved check once, with why; nothing else. @throws KernelError `invalid` */
function overridesOf({ proposal, unresolved }: ProposalRecord, given: NonNullable<ApproveInput['overrides']>) {
  const named = given.map(({ check }) => check)
  const missing = unresolved.filter((check) => !named.includes(check))
  if (missing.length > 0)
    throw new KernelError(
      'invalid',
      `${proposal} has not passed ${missing.join(', ')}: approving it overrides each of them, with a reason. Nothing was decided`,
    )
  const needless = named.filter((check, index) => !unresolved.includes(check) || named.indexOf(check) !== index)
  if (needless.length > 0)
    throw new KernelError('invalid', `there is nothing to override in ${needless.join(', ')}. Nothing was decided`)
  const empty = given.find(({ reason }) => !hasWords(reason))
  if (empty !== undefined)
    throw new KernelError('invalid', `the override of ${empty.check} needs a reason. Nothing was decided`)
  return given.map(({ check, reason }) => ({ check, reason }))
}

function requireWords(reason: string, what: string): void {
  if (!hasWords(reason)) throw new KernelError('invalid', `${what} needs a reason: it is what the agent learns from`)
}

function requireLines(
  comments: ReturnInput['comments'],
  trees: { before: readonly TreeFile[]; after: readonly TreeFile[] },
): void {
  for (const { path, side, line } of comments) {
    const text = trees[side].find((file) => file.path === path)?.text
    const where = side === 'before' ? 'in the revision before' : 'in what is proposed'
    if (text === undefined) throw new KernelError('invalid', `a comment is on ${path}, which is not ${where}`)
    const lines = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
    if (line < 1 || line > Math.max(1, lines))
      throw new KernelError('invalid', `a comment is on line ${line} of ${path}, which has ${lines} lines ${where}`)
  }
}

/** What is said in one event has room there. @throws KernelError `invalid` */
export function requireRoom(said: unknown, what: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(said))
  if (bytes > saidBytes)
    throw new KernelError(
      'invalid',
      `${what} have ${bytes} bytes together, at most ${saidBytes} are kept: say less. Nothing was decided`,
    )
}

/** The approval was for a change of a revision that has not stayed. */
function overtaken(agent: string, { proposal, revision, task }: ProposalRecord) {
  const error = 'another revision became active before it could take over: propose it again'
  const data = { revision, proposal, stage: 'commit' as const, error }
  return draft('revision.activation-failed', data, { actor: 'kernel', agent, task })
}

export type Review = ReturnType<typeof createReview>
