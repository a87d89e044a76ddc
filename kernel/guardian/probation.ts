import { KernelError } from '../errors.ts'
import { draft } from '../wire/events.ts'
import { staled } from './checking.ts'
import type { Core, RestartLimits } from './core.ts'
import type { FailureDecision, Guardian } from './guardian.ts'
import type { ActivationRecord, AgentState } from './state.ts'

const defaults: RestartLimits = {
  firstDelayMs: 1000,
  maxDelayMs: 60_000,
  consecutive: 3,
  withinMs: 60_000,
  perWindow: 5,
}

type ReportedFailure = Parameters<Guardian['generationFailed']>[1]

/** What a crash or a hang of the active revision leads to, and when its probation is over. */
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

  /** In one commit: the old one marked, the earlier content authorised and active. */
  async function goBack(
    agent: string,
    from: ActivationRecord,
    to: ActivationRecord,
    failure: ReportedFailure,
    reason: string,
  ): Promise<void> {
    const header = { actor: 'kernel' as const, agent, task: failure.task, run: 'task' as const, revision: to.revision }
    const { proposal } = from
    await history.appendIfActive(agent, from.revision, [
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
    ])
    failures.delete(agent)
  }

  async function decide(agent: string, failure: ReportedFailure): Promise<FailureDecision> {
    const active = ledger.mustBeActive(agent)
    if (active.activation !== failure.activation) return { action: 'replaced', delayMs: 0 }
    const ended = failure.kind === 'crash' ? 'crashed' : 'hung'
    const seen = count(agent, active.activation)
    const isTooMuch = seen.inARow >= limits.consecutive || seen.at.length > limits.perWindow
    const inProbation = active.state === 'probation'
    if (!inProbation && !isTooMuch)
      return { action: 'restart', delayMs: Math.min(limits.maxDelayMs, limits.firstDelayMs * 2 ** (seen.inARow - 1)) }
    const often = inProbation
      ? `${ended} in probation, after ${active.steps} of ${active.probationSteps} steps`
      : seen.inARow >= limits.consecutive
        ? `${ended} ${seen.inARow} times in a row without completing a step`
        : `failed ${seen.at.length} times within ${limits.withinMs / 1000} s`
    const reason = `it ${often}: ${failure.detail}`
    const good = lastGood(ledger.state(agent))
    if (good !== null) {
      await goBack(agent, active, good, failure, reason)
      return { action: 'replaced', delayMs: 0 }
    }
    failures.delete(agent)
    const advice =
      'There is no earlier revision to return to. Submit a mended policy as a proposal, then run the task again'
    return { action: 'give-up', reason: `safe mode: r${active.activation} ${often}: ${failure.detail}. ${advice}` }
  }

  return {
    failed: (agent: string, failure: ReportedFailure): Promise<FailureDecision> => {
      if (core.closing.aborted)
        return Promise.reject(new KernelError('cancelled', 'the guardian is closed: the app is ending'))
      return ledger.locked(agent, () => decide(agent, failure))
    },

    /** Confirms the active revision once it has completed its steps. True: it did so now. */
    async confirm(agent: string): Promise<boolean> {
      if (!isOver(ledger.find(agent))) return false
      return ledger.locked(agent, async () => {
        const active = ledger.mustBeActive(agent)
        if (!isOver(ledger.find(agent)) || core.closing.aborted) return false
        const { activation, revision, proposal, steps } = active
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
  return active?.state === 'probation' && active.steps >= active.probationSteps
}

/** The latest earlier activation with other content that was never sent back; null: there is none. */
function lastGood({ activations }: AgentState): ActivationRecord | null {
  const active = activations.at(-1)
  const latest = new Map(activations.map((one) => [one.revision, one]))
  const isGood = (one: ActivationRecord): boolean =>
    one.revision !== active?.revision && latest.get(one.revision)?.state !== 'rolled-back'
  return activations.findLast(isGood) ?? null
}
