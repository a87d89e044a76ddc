import { failpoint } from '../failpoints.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { Core } from './core.ts'
import type { ProposalRecord } from './state.ts'

/** A host may sleep, and its clock be set: what is due is looked at again at least so often. */
const lookAgainMs = 60 * 60_000

/**
 * Deadlines of proposals that wait: one that nobody decided in time ends, which is no rejection (the same may be proposed again
 * at once), and one that was put off asks again when its time has come. What passed while no host ran is seen at the next start.
 */
export function createExpiry(core: Core) {
  const { ledger } = core
  const { history, clock } = core.parts
  let timer: NodeJS.Timeout | undefined

  const hasCome = (at: number | null): boolean => at !== null && at <= clock.now()

  function isDue({ state, expiresAt, deferredUntil }: ProposalRecord): boolean {
    return state === 'ready' && (hasCome(expiresAt) || hasCome(deferredUntil))
  }

  function draftOf(agent: string, { proposal, task, expiresAt }: ProposalRecord): EventDraft {
    const header = { actor: 'kernel', agent, task } as const
    if (!hasCome(expiresAt)) return draft('proposal.recalled', { proposal }, header)
    const reason = 'nobody decided in time: propose it again if it still helps'
    return draft('proposal.expired', { proposal, reason }, header)
  }

  async function meet(agent: string): Promise<void> {
    await ledger.locked(agent, async () => {
      if (core.closing.aborted) return
      const due = ledger.state(agent).proposals.filter(isDue)
      if (due.length === 0) return
      if (due.some(({ expiresAt }) => hasCome(expiresAt))) failpoint('expiry:before-expired')
      else failpoint('expiry:before-recalled')
      await history.append(due.map((one) => draftOf(agent, one)))
    })
  }

  async function look(): Promise<void> {
    if (core.closing.aborted) return
    for (const { agent, proposals } of ledger.agents()) if (proposals.some(isDue)) await meet(agent)
    schedule()
  }

  function schedule(): void {
    clearTimeout(timer)
    if (core.closing.aborted) return
    const times = ledger
      .agents()
      .flatMap(({ proposals }) => proposals.filter(({ state }) => state === 'ready'))
      .flatMap(({ expiresAt, deferredUntil }) => [expiresAt, deferredUntil])
      .filter((at) => at !== null)
    if (times.length === 0) return
    const ms = Math.max(1, Math.min(lookAgainMs, Math.min(...times) - clock.now()))
    timer = setTimeout(() => core.background('', look), ms)
    timer.unref()
  }

  return {
    /** At start, and whenever the host wants to know. */
    look,
    /** After each change. */
    schedule,
    close: () => clearTimeout(timer),
  }
}
