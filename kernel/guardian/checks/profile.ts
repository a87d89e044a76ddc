import { createHash } from 'node:crypto'
import { draft, type EventDraft } from '../../wire/events.ts'
import type { Core } from '../core.ts'
import { waiting } from '../state.ts'
import { boot } from './boot.ts'
import type { Check } from './check.ts'
import { scope } from './scope.ts'
import { types } from './types.ts'

/** The gates of a proposal, in order of cost. A change of the list or of a check's rules is another profile. */
export interface Profile {
  checks: readonly Check[]
  hash: string
}

const profileName = 'default'

export function profileOf(checks: readonly Check[] = [scope, types, boot]): Profile {
  const rules = checks.map(({ name, rules }) => ({ name, rules }))
  const hash = createHash('sha256')
    .update(JSON.stringify({ profile: profileName, rules }))
    .digest('hex')
  return { checks, hash }
}

/** Records the profile where it is not that of the last record; what waits was checked under the old one and expires. */
export async function recordProfile(core: Core): Promise<void> {
  const { history } = core.parts
  const { checks, hash } = core.profile
  const last = await history.latest({ agent: null }, 'profile.changed')
  if (last?.data.hash === hash) return
  const data = { profile: profileName, hash, checks: checks.map(({ name }) => name) }
  const drafts: EventDraft[] = [draft('profile.changed', data, { actor: 'kernel' })]
  for (const state of core.ledger.agents()) {
    for (const { proposal, task } of waiting(state))
      drafts.push(draft('proposal.expired', { proposal }, { actor: 'kernel', agent: state.agent, task }))
  }
  await history.append(drafts)
}
