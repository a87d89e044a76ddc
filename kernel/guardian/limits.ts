import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft } from '../wire/events.ts'
import type { Activation } from './activation.ts'
import { type Breach, breachOf, sentenceOf } from './breach.ts'
import type { Core } from './core.ts'
import { compare } from './figures.ts'
import { wayBack } from './probation.ts'
import { type ActivationRecord, isBreachOpen } from './state.ts'

/** The watch goes over this many times the steps of a probation, on each task. */
const watchFactor = 5

/**
 * Holds a revision that a proposal made active to the limits of the profile, in its probation and after it, against the
 * revision before. The first breach of an activation is recorded; what it leads to was chosen at the approval: a return to
 * the last good revision at the next step boundary, or a notice on every screen. A run that approves by itself also returns by itself.
 */
export function createLimits(core: Core, activation: Activation) {
  const { ledger } = core
  const { history, notices } = core.parts
  /** Where each agent last made a step in this process. */
  const lastTask = new Map<string, string>()
  /** What has been watched to the end, and returns that were tried: by activation. */
  const over = new Set<string>()
  const tried = new Set<string>()
  const looking = new Map<string, Promise<void>>()

  const stop = history.onCommit((events) => {
    for (const { kind, agent, task, run } of events) {
      if (kind !== 'model.called' || agent === null || task === null || run !== 'task') continue
      lastTask.set(agent, task)
      // In probation the ledger's own change leads here.
      if (ledger.active(agent)?.state === 'active') core.background(agent, () => look(agent))
    }
  })

  const isWatched = ({ cause, previous, regressed, state }: ActivationRecord): boolean =>
    cause === 'proposal' && previous !== null && !regressed && (state === 'probation' || state === 'active')

  /** One at a time, so that a busy agent queues no more than one. */
  function look(agent: string): Promise<void> {
    const running = looking.get(agent)
    if (running !== undefined) return running
    const work = judge(agent).finally(() => looking.delete(agent))
    looking.set(agent, work)
    return work
  }

  async function judge(agent: string): Promise<void> {
    if (core.closing.aborted) return
    const state = ledger.state(agent)
    const active = state.activations.at(-1)
    if (active === undefined) return
    if (isReturnDue(agent, active)) return goBack(agent)
    const task = lastTask.get(agent) ?? core.targets.get(agent)?.task ?? state.tasks.at(-1)?.task
    if (!isWatched(active) || task === undefined) return
    const key = `${agent} ${active.activation} ${task}`
    if (over.has(key)) return
    const limits = core.profile.probation
    const most = { before: 2 * limits.steps, after: watchFactor * limits.steps }
    const { before, after } = await compare(history, state, active, task, most)
    const breach = breachOf(before, after, limits)
    if (breach === null) {
      if (after.length >= most.after && active.state === 'active') over.add(key)
      return
    }
    await record(agent, active, breach)
    if (isReturnDue(agent, ledger.mustBeActive(agent))) await goBack(agent)
  }

  async function record(agent: string, watched: ActivationRecord, breach: Breach): Promise<void> {
    await ledger.locked(agent, async () => {
      const active = ledger.mustBeActive(agent)
      if (active.activation !== watched.activation || !isWatched(active) || core.closing.aborted) return
      const { revision, proposal } = active
      const leadsTo = active.authorisedBy === 'flag' ? 'rollback' : active.onBreach
      failpoint('regression:before-regressed')
      await history.appendIfActive(agent, revision, [
        draft(
          'revision.regressed',
          { activation: active.activation, revision, proposal, ...breach, leadsTo },
          { actor: 'kernel', agent, task: core.targets.get(agent)?.task ?? null, revision },
        ),
      ])
      failpoint('regression:after-regressed')
    })
  }

  function isReturnDue(agent: string, active: ActivationRecord): boolean {
    return isBreachOpen(active) && active.breach?.leadsTo === 'rollback' && !tried.has(`${agent} ${active.activation}`)
  }

  /** As a rollback of the operator: authorised first, then handed over at a step boundary, pointer and events in one commit. */
  async function goBack(agent: string): Promise<void> {
    const started = await ledger.locked(agent, async () => {
      const state = ledger.state(agent)
      const active = ledger.mustBeActive(agent)
      const way = wayBack(state)
      if (!isReturnDue(agent, active) || active.breach === null || core.closing.aborted) return null
      if (core.changing.has(agent)) return null
      tried.add(`${agent} ${active.activation}`)
      if (way === null) return null
      const { revision } = way.record
      const reason = sentenceOf(active.breach)
      failpoint('regression:before-authorised')
      await history.appendIfActive(agent, active.revision, [
        draft(
          'revision.authorised',
          { revision, by: 'last-good', proposal: null },
          { actor: 'kernel', agent, revision },
        ),
      ])
      failpoint('regression:authorised')
      const data = {
        from: { activation: active.activation, revision: active.revision },
        to: { activation: way.record.activation, revision },
        cause: 'regression' as const,
        proposal: active.proposal,
        reason,
      }
      const task = core.targets.get(agent)?.task ?? null
      const alongside = [draft('revision.rolled-back', data, { actor: 'kernel', agent, task, revision })]
      const change = { agent, revision, cause: 'last-good' as const, proposal: null, alongside, expected: active }
      return { work: activation.begin(change, `the return to r${way.record.activation}`) }
    })
    // A failure is an event of its own, and the notice stays.
    await started?.work
  }

  return {
    look,

    /** Raises or takes back the notice of what needs the operator's eye. */
    tell(agent: string): void {
      const id = `revision.regressed.${agent}`
      const state = ledger.find(agent)
      const active = state?.activations.at(-1)
      if (state === undefined || active === undefined || !isBreachOpen(active) || active.breach === null) {
        notices?.clear(id)
        return
      }
      const to = wayBack(state)?.record.activation
      notices?.raise({
        ...{ id, severity: 'warning', task: core.targets.get(agent)?.task ?? null },
        text: `r${active.activation} of ${agent} has regressed: ${sentenceOf(active.breach)}`,
        fix:
          to === undefined
            ? 'Look at it under Revisions'
            : `Review the rollback under Revisions (exodesk rollback r${to} --agent ${agent}), or keep r${active.activation}`,
      })
    },

    /** The operator leaves a regressed revision as it is; its probation is over. @throws KernelError `conflict`. */
    keep: (agent: string, wanted: number, reason: string): Promise<{ seq: number }> => {
      core.requireOpen()
      return ledger.locked(agent, async () => {
        const active = ledger.mustBeActive(agent)
        const change = core.changing.get(agent)
        if (change !== undefined)
          throw new KernelError('conflict', `${change.what} is under way: wait until it is done`)
        if (active.activation !== wanted || !isBreachOpen(active))
          throw new KernelError('conflict', `r${wanted} is not active, or has no open breach: nothing to keep`)
        const { revision, proposal, steps } = active
        failpoint('regression:before-kept')
        const data = { activation: wanted, revision, proposal, steps, reason }
        const drafts = [draft('revision.confirmed', data, { actor: 'operator', agent, revision })]
        const [event] = await history.appendIfActive(agent, revision, drafts)
        return { seq: event?.seq ?? 0 }
      })
    },

    close: stop,
  }
}
