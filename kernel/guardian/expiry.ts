import { failpoint } from '../failpoints.ts'
import { draft } from '../wire/events.ts'
import type { Core } from './core.ts'
import type { ProposalRecord } from './state.ts'

/** A host may sleep, and its clock be set: what is due is looked at again at least so often. */
const lookAgainMs = 60 * 60_000

/** Ends proposals that nobody decided in time. That is no rejection: the same may be proposed again at once. */
export function createExpiry(core: Core) {
  const { ledger } = core
  const { history, clock } = core.parts
  let timer: NodeJS.Timeout | undefined

  const isDue = ({ state, expiresAt }: ProposalRecord): boolean =>
    state === 'ready' && expiresAt !== null && expiresAt <= clock.now()

  async function expire(agent: string): Promise<void> {
    await ledger.locked(agent, async () => {
      if (core.closing.aborted) return
      const due = ledger.state(agent).proposals.filter(isDue)
      if (due.length === 0) return
      failpoint('expiry:before-expired')
      await history.append(
        due.map(({ proposal, task }) => {
          const reason = 'nobody decided in time: propose it again if it still helps'
          return draft('proposal.expired', { proposal, reason }, { actor: 'kernel', agent, task })
        }),
      )
    })
  }

  async function look(): Promise<void> {
    if (core.closing.aborted) return
    for (const { agent, proposals } of ledger.agents()) if (proposals.some(isDue)) await expire(agent)
    schedule()
  }

  function schedule(): void {
    clearTimeout(timer)
    if (core.closing.aborted) return
    const times = ledger
      .agents()
      .flatMap(({ proposals }) => proposals)
      .flatMap(({ state, expiresAt }) => (state === 'ready' && expiresAt !== null ? [expiresAt] : []))
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
