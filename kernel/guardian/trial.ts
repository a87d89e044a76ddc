import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import { type TrialArm, trialArms } from '../wire/trials.ts'
import { type Bindings, lookAgain } from './binding.ts'
import type { Core } from './core.ts'
import type { TrialForks, TrialInput, TrialSubject } from './guardian.ts'
import type { AgentState } from './state.ts'

/** What a trial needs of the guardian: who may be tried, and forks on which each arm may start. */
export function createTrialGate(core: Core, bindings: Bindings) {
  const { ledger } = core
  const { history } = core.parts

  return {
    /** Decides nothing: the nonce stays good for a verdict. */
    subject({ agent, proposal, nonce, binding, viewer }: TrialInput): TrialSubject {
      core.requireOpen()
      requireOrdinary(ledger.state(agent))
      const one = ledger.proposal(agent, proposal)
      const { revision: active } = ledger.mustBeActive(agent)
      if (one.state === 'ready') bindings.requireShown({ agent, proposal, nonce, binding, viewer })
      else if (one.state !== 'checking')
        throw new KernelError('conflict', `${proposal} is ${one.state}: only one that waits for a verdict can be tried`)
      // While its checks run there is no view to bind to, but there are the bytes.
      else if (binding.revision !== one.revision || binding.base !== active)
        throw lookAgain('the trial is for another revision than the one that waits')
      if (one.base !== active) throw lookAgain(`${proposal} was made from a revision that is not active any more`)
      return { before: active, after: one.revision }
    },

    /**
     * The forks of both arms in one commit. Each is authorised for its own fork alone, which runs nothing but its trial:
     * the agent itself is as far from the candidate as before.
     */
    async fork({ trial, parent, names, revisions, proposal }: TrialForks): Promise<void> {
      core.requireOpen()
      requireOrdinary(ledger.state(parent.agent))
      const at = await history.get({ agent: parent.agent }, parent.seq)
      if (at === null) throw new KernelError('not-found', `agent ${parent.agent} has no event ${parent.seq}`)
      for (const arm of trialArms)
        if (ledger.find(names[arm]) !== undefined)
          throw new KernelError('conflict', `there is an agent ${names[arm]} already`)
      const from = { ...parent, hash: at.hash }
      failpoint('trial:before-forked')
      await history.append(trialArms.flatMap((arm) => forked(arm, from)))

      function forked(arm: TrialArm, from: { agent: string; seq: number; hash: string }): EventDraft[] {
        const revision = revisions[arm]
        const name = names[arm]
        const header = { actor: 'kernel', agent: name, run: 'trial', revision } as const
        const activated = { activation: 1, revision, previous: null, cause: 'seed', proposal: null } as const
        return [
          draft('agent.forked', { name, parent: from, revision, trial }, header),
          draft('revision.authorised', { revision, by: 'trial', proposal: arm === 'after' ? proposal : null }, header),
          draft('revision.activated', { ...activated, probationSteps: 0 }, header),
        ]
      }
    },
  }
}

/** @throws KernelError `forbidden` for the fork of a trial: what it runs was let run there and nowhere else. */
export function requireOrdinary({ agent, trial }: AgentState): void {
  if (trial !== null) throw new KernelError('forbidden', `${agent} is an arm of trial ${trial}: it does nothing else`)
}
