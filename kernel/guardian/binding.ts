import { createHash, randomBytes } from 'node:crypto'
import { KernelError } from '../errors.ts'
import type { Binding } from '../wire/events.ts'
import { keptWords } from './checks/charter.ts'
import type { Core } from './core.ts'
import type { VerdictInput } from './guardian.ts'
import { type ProposalRecord, short } from './state.ts'

/** Views open at one time; the oldest gives way. */
const noncesMax = 256

interface View {
  agent: string
  proposal: string
  binding: Binding
  viewer: object | undefined
  openedAt: number
}

/** What a verdict was given on. */
export interface Spent {
  one: ProposalRecord
  viewedMs: number
  binding: Binding
}

/**
 * Ties a verdict to the exact bytes and judgements that a view showed, once and in the connection that it was opened in: its
 * nonce lives in this process's memory only, and is spent by the first verdict that brings it, whatever comes of it.
 */
export function createBindings(core: Core) {
  const { ledger } = core
  const { clock } = core.parts
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

  return {
    of: bindingOf,

    /** Why it cannot be approved now; null when it can. */
    blocked(agent: string, proposal: string): string | null {
      const one = ledger.proposal(agent, proposal)
      const active = ledger.mustBeActive(agent)
      if (one.state === 'checking') return 'its checks are still running'
      if (one.state !== 'ready') return `it is ${one.state}${one.reason === null ? '' : `: ${one.reason}`}`
      if (one.risk === 'KERNEL') {
        const kept = one.fileRisks?.find(({ risk }) => risk === 'KERNEL')?.path
        return kept === undefined
          ? 'it changes what the charter keeps: leave that out and propose the rest'
          : keptWords(kept)
      }
      const change = core.changing.get(agent)
      if (change !== undefined) return `${change.what} is under way: wait until it is done`
      if (active.state === 'probation') {
        const left = Math.max(0, active.probationSteps - active.steps)
        return `r${active.activation} is in probation for ${left} more steps: this one can be approved when that ends (or after a rollback)`
      }
      if (one.base !== active.revision) return `it was made from ${short(one.base)}, which is not active any more`
      return null
    },

    view(agent: string, proposal: string, viewer?: object) {
      const one = ledger.proposal(agent, proposal)
      if (one.state !== 'ready')
        throw new KernelError('conflict', `${proposal} is ${one.state}: a verdict is possible only while it is ready`)
      const nonce = randomBytes(16).toString('hex')
      const binding = bindingOf(agent, one)
      views.set(nonce, { agent, proposal, binding, viewer, openedAt: clock.monotonic() })
      for (const oldest of views.keys()) {
        if (views.size <= noncesMax) break
        views.delete(oldest)
      }
      return { nonce, binding, issuedAt: clock.now() }
    },

    /** As `spend`, but the nonce stays good. @throws KernelError `conflict`. */
    requireShown(input: Omit<VerdictInput, 'reason'>): void {
      shown(input)
    },

    /** Takes the nonce, and gives what it was good for. Called under the agent's lock. @throws KernelError `conflict`. */
    spend(input: VerdictInput): Spent {
      try {
        return shown(input)
      } finally {
        views.delete(input.nonce)
      }
    },
  }

  function shown(input: Omit<VerdictInput, 'reason'>): Spent {
    const view = views.get(input.nonce)
    // A view ends with the connection that it was opened in: no other can answer for what it showed.
    if (view === undefined || view.viewer !== input.viewer)
      throw lookAgain('this view has been used or was never opened here')
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
}

export function lookAgain(why: string): KernelError {
  return new KernelError('conflict', `${why}. Nothing was decided: look again`)
}

export type Bindings = ReturnType<typeof createBindings>
