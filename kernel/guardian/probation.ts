import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft, type EventData, type EventDraft } from '../wire/events.ts'
import { staled } from './checking.ts'
import type { Core, RestartLimits } from './core.ts'
import type { FailureDecision, Guardian } from './guardian.ts'
import { type ActivationRecord, type AgentState, isBreachOpen } from './state.ts'

const defaults: RestartLimits = {
  firstDelayMs: 1000,
  maxDelayMs: 60_000,
  consecutive: { crash: 6, hang: 3 },
  withinMs: 60_000,
  perWindow: 5,
}

type ReportedFailure = Parameters<Guardian['generationFailed']>[1]
type Escalation = EventData<'executor.escalated'>

/**
 * What a failure of the active revision leads to, and when its probation is over. After OTP and systemd: started again after
 * 1, 2, 4 … 60 s; too often, and the last good revision comes back, then the starting policy, then nothing is started at all.
 */
export function createProbation(core: Core) {
  const { ledger } = core
  const { history, clock } = core.parts
  const limits = { ...defaults, ...core.parts.restarts }
  /** Of the active revision, since it became so in this process. */
  const failures = new Map<string, { activation: number; at: number[]; inARow: number }>()

  const stop = history.onCommit((events) => {
    for (const { kind, agent, run, data } of events) {
      if (kind !== 'model.called' || agent === null || run !== 'task' || data.status !== 'completed') continue
      const seen = failures.get(agent)
      if (seen !== undefined) seen.inARow = 0
    }
  })

  function count(agent: string, activation: number): { at: number[]; inARow: number } {
    const before = failures.get(agent)
    const seen = before?.activation === activation ? before : { activation, at: [], inARow: 0 }
    const now = clock.monotonic()
    seen.at = [...seen.at.filter((at) => now - at < limits.withinMs), now]
    seen.inARow += 1
    failures.set(agent, seen)
    return seen
  }

  const headerOf = (agent: string, failure: ReportedFailure, revision: string) =>
    ({ actor: 'kernel', agent, task: failure.task, run: 'task', revision }) as const

  /** In one commit: the old one marked, the earlier content authorised and active. */
  async function goBack(
    agent: string,
    from: ActivationRecord,
    to: ActivationRecord,
    failure: ReportedFailure,
    escalation: Escalation,
  ): Promise<void> {
    const { reason } = escalation
    const header = headerOf(agent, failure, to.revision)
    const { proposal } = from
    const drafts: EventDraft[] = [
      draft('executor.escalated', escalation, { ...header, revision: from.revision }),
      draft(
        'revision.rolled-back',
        {
          from: { activation: from.activation, revision: from.revision },
          to: { activation: to.activation, revision: to.revision },
          cause: failure.kind,
          proposal,
          reason,
        },
        header,
      ),
      draft('revision.authorised', { revision: to.revision, by: 'last-good', proposal: null }, header),
      draft(
        'revision.activated',
        {
          activation: from.activation + 1,
          revision: to.revision,
          previous: from.revision,
          cause: 'last-good',
          proposal: null,
          probationSteps: 0,
        },
        header,
      ),
      ...staled(core, agent, to.revision, null),
    ]
    failpoint('escalation:before-commit')
    await history.appendIfActive(agent, from.revision, drafts)
    failpoint('escalation:after-commit')
    failures.delete(agent)
  }

  async function decide(agent: string, failure: ReportedFailure): Promise<FailureDecision> {
    const state = ledger.state(agent)
    const active = ledger.mustBeActive(agent)
    if (state.safeMode !== null) return { action: 'safe-mode', reason: state.safeMode.reason }
    if (active.activation !== failure.activation) return { action: 'replaced', delayMs: 0 }
    const { isTooMuch, often, delayMs, crashes } = judge(agent, active, failure)
    if (!isTooMuch) return { action: 'restart', delayMs }
    const reason = `it ${often}: ${failure.detail}`
    const way = wayBack(state)
    // Turns that fail under the revision that was gone back to are not its fault: the task's end says what is.
    const isOnce = failure.kind === 'failed-turns' && active.cause === 'last-good'
    if (way !== null && !isOnce) {
      await goBack(agent, active, way.record, failure, { to: way.to, crashes, reason })
      return { action: 'replaced', delayMs: 0 }
    }
    if (failure.kind === 'failed-turns') return { action: 'give-up', reason: `r${active.activation} ${reason}` }
    failures.delete(agent)
    const text = `r${active.activation} ${often}, and there is no earlier revision left to return to: ${failure.detail}`
    failpoint('escalation:safe-mode')
    await history.append([
      draft(
        'executor.escalated',
        { to: 'safe-mode', crashes, reason: text },
        headerOf(agent, failure, active.revision),
      ),
    ])
    return { action: 'safe-mode', reason: text }
  }

  function judge(agent: string, active: ActivationRecord, failure: ReportedFailure) {
    const inProbation = active.state === 'probation'
    const during = inProbation ? ` in probation, after ${active.steps} of ${active.probationSteps} steps` : ''
    // The run has counted those itself.
    if (failure.kind === 'failed-turns')
      return { isTooMuch: true, often: `failed its turns${during}`, delayMs: 0, crashes: 0 }
    const seen = count(agent, active.activation)
    const crashes = seen.at.length
    const ended = failure.kind === 'crash' ? 'crashed' : 'hung'
    const isRow = seen.inARow >= limits.consecutive[failure.kind]
    const often = inProbation
      ? `${ended}${during}`
      : isRow
        ? `${ended} ${seen.inARow} times in a row without completing a step`
        : `failed ${crashes} times within ${limits.withinMs / 1000} s`
    return {
      isTooMuch: inProbation || isRow || crashes > limits.perWindow,
      often,
      delayMs: Math.min(limits.maxDelayMs, limits.firstDelayMs * 2 ** (seen.inARow - 1)),
      crashes,
    }
  }

  return {
    failed: (agent: string, failure: ReportedFailure): Promise<FailureDecision> => {
      if (core.closing.aborted)
        return Promise.reject(new KernelError('cancelled', 'the guardian is closed: the app is ending'))
      return ledger.locked(agent, () => decide(agent, failure))
    },

    leaveSafeMode: (agent: string, reason: string): Promise<{ seq: number }> => {
      core.requireOpen()
      return ledger.locked(agent, async () => {
        if (ledger.state(agent).safeMode === null)
          throw new KernelError('conflict', `agent ${agent} is not in safe mode: nothing to leave`)
        const [event] = await history.append([draft('agent.released', { reason }, { actor: 'operator', agent })])
        return { seq: event?.seq ?? 0 }
      })
    },

    /** Confirms the active revision once it has completed its steps within its limits. True: it did so now. */
    async confirm(agent: string): Promise<boolean> {
      if (!isOver(ledger.find(agent))) return false
      return ledger.locked(agent, async () => {
        const active = ledger.mustBeActive(agent)
        if (!isOver(ledger.find(agent)) || core.closing.aborted) return false
        const { activation, revision, proposal, steps } = active
        failpoint('probation:before-confirmed')
        await history.appendIfActive(agent, revision, [
          draft('revision.confirmed', { activation, revision, proposal, steps }, { actor: 'kernel', agent, revision }),
        ])
        return true
      })
    },

    close: stop,
  }
}

function isOver(state: AgentState | undefined): boolean {
  const active = state?.activations.at(-1)
  return active?.state === 'probation' && active.steps >= active.probationSteps && !isBreachOpen(active)
}

/** The latest earlier content that was never sent back; once that has failed too, the starting policy; null: there is none left. */
export function wayBack({ activations }: AgentState): { record: ActivationRecord; to: 'last-good' | 'seed' } | null {
  const active = activations.at(-1)
  const [first] = activations
  if (active === undefined || first === undefined) return null
  const latest = new Map(activations.map((one) => [one.revision, one]))
  const isGood = (one: ActivationRecord): boolean =>
    one.revision !== active.revision && latest.get(one.revision)?.state !== 'rolled-back'
  const isSecond = active.cause === 'last-good'
  const record = isSecond ? (isGood(first) ? first : undefined) : activations.findLast(isGood)
  if (record === undefined) return null
  return { record, to: record.revision === first.revision ? 'seed' : 'last-good' }
}
