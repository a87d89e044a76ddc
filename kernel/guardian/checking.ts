import { failpoint } from '../failpoints.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import { type CheckOutcome, unresolved } from './checks/check.ts'
import type { ProfileCheck } from './checks/profile.ts'
import { type Core, unless } from './core.ts'
import { turnedDown } from './recurrence.ts'
import { riskOf } from './risk.ts'
import type { ProposalRecord } from './state.ts'

/** A check that has not answered by then is unresolved. Each has a shorter limit of its own. */
const checkMs = 600_000
const notRun = unresolved('switched off in the guardian profile: it was not run')

/** Runs the checks of proposals in the background, one agent's one after the other. */
export function createChecking(core: Core, onReady: (agent: string, proposal: string) => Promise<void>) {
  const { ledger } = core
  const { history, revisions, clock } = core.parts
  const queues = new Map<string, Promise<void>>()
  const running = new Map<string, { proposal: string; stop: AbortController }>()

  const isChecking = (agent: string, proposal: string): boolean => ledger.proposal(agent, proposal).state === 'checking'

  async function checkAll(agent: string, proposal: string): Promise<void> {
    const stop = new AbortController()
    const close = () => stop.abort()
    core.closing.addEventListener('abort', close, { once: true })
    running.set(agent, { proposal, stop })
    try {
      for (const check of core.profile.checks) {
        const one = ledger.proposal(agent, proposal)
        if (one.state !== 'checking') return
        if (one.checks.some((done) => done.check === check.name)) continue
        const before = clock.monotonic()
        const outcome = check.runs ? await outcomeOf(agent, one, check, stop.signal) : notRun
        if (stop.signal.aborted) return
        await record(agent, one, check, outcome, clock.monotonic() - before)
      }
      await ready(agent, proposal)
    } finally {
      running.delete(agent)
      core.closing.removeEventListener('abort', close)
    }
    if (ledger.proposal(agent, proposal).state === 'ready') await onReady(agent, proposal)
  }

  async function outcomeOf(
    agent: string,
    one: ProposalRecord,
    check: ProfileCheck,
    signal: AbortSignal,
  ): Promise<CheckOutcome> {
    const late = AbortSignal.timeout(checkMs)
    const either = AbortSignal.any([signal, late])
    try {
      const [files, base] = await Promise.all([revisions.read(one.revision), revisions.read(one.base)])
      const candidate = {
        agent,
        proposal: one.proposal,
        revision: one.revision,
        files,
        base,
        baseRevision: one.base,
        claim: one.claim,
        why: one.why,
        expects: one.expects,
        by: one.by,
        authorised: [...ledger.state(agent).authorised.keys()],
        checks: one.checks,
        recurrences: await turnedDown(core, agent, one),
        thresholds: check.thresholds,
      }
      return await unless(either, check.run(candidate, core.parts, either))
    } catch (error) {
      if (signal.aborted) return { verdict: 'unresolved', summary: 'no longer wanted', details: {} }
      const summary = late.aborted
        ? `gave no answer within ${checkMs / 1000} s. Propose again`
        : `could not be run: ${error instanceof Error ? error.message : String(error)}. Propose again once that is mended`
      return { verdict: 'unresolved', summary, details: {} }
    }
  }

  async function record(
    agent: string,
    { proposal, task }: ProposalRecord,
    check: ProfileCheck,
    outcome: CheckOutcome,
    durationMs: number,
  ): Promise<void> {
    await ledger.locked(agent, async () => {
      if (!isChecking(agent, proposal)) return
      failpoint('check:before-checked')
      await history.append([
        draft(
          'proposal.checked',
          { proposal, check: check.name, durationMs, gates: check.gates && check.runs, ...outcome },
          { actor: 'kernel', agent, task, run: 'check' },
        ),
      ])
    })
  }

  async function ready(agent: string, proposal: string): Promise<void> {
    const { revision, base, task, checks } = ledger.proposal(agent, proposal)
    if (!isChecking(agent, proposal)) return
    const { risk, reasons, files } = riskOf(await revisions.read(base), await revisions.read(revision), checks)
    await ledger.locked(agent, async () => {
      if (!isChecking(agent, proposal)) return
      const { expiresAfterMs } = core.profile
      const expiresAt = expiresAfterMs === null ? null : Math.round(clock.now() + expiresAfterMs)
      failpoint('check:before-readied')
      await history.append([
        draft(
          'proposal.readied',
          { proposal, risk, reasons, files, expiresAt },
          { actor: 'kernel', agent, task, run: 'check' },
        ),
      ])
    })
  }

  return {
    /** Takes up the checks of a proposal from the first that has not reported. */
    start(agent: string, proposal: string): void {
      const before = queues.get(agent) ?? Promise.resolve()
      const work = before.then(() => (core.closing.aborted ? undefined : checkAll(agent, proposal)))
      queues.set(
        agent,
        work.catch(() => {}),
      )
      core.background(agent, () => work)
    },

    /** Lets go of a check whose proposal has left the race. */
    notice(agent: string): void {
      const now = running.get(agent)
      if (now !== undefined && !isChecking(agent, now.proposal)) now.stop.abort()
    },
  }
}

export type Checking = ReturnType<typeof createChecking>

/** Events that end proposals which an activation of `revision` leaves behind. */
export function staled(
  core: Core,
  agent: string,
  revision: string,
  except: string | null,
): EventDraft<'proposal.staled'>[] {
  return core.ledger
    .state(agent)
    .proposals.filter(({ state, base, proposal }) => {
      return (state === 'checking' || state === 'ready') && base !== revision && proposal !== except
    })
    .map(({ proposal, base, task }) =>
      draft('proposal.staled', { proposal, base, active: revision }, { actor: 'kernel', agent, task }),
    )
}
