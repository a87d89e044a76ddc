import type { History } from '../history/history.ts'
import { type Actor, draft, type EventDraft } from '../wire/events.ts'
import type { Vault } from './credentials.ts'

/**
 * Brings history up to date with the vault: an event for each key that was sealed or removed since. Done after each change,
 * and at start, since a kill may come between the two.
 */
export function createVaultRecord(history: History, vault: Vault): (actor: Actor) => Promise<void> {
  let queue: Promise<unknown> = Promise.resolve()
  return (actor) => {
    const done = queue.then(() => record(history, vault, actor))
    queue = done.catch(() => {})
    return done
  }
}

async function record(history: History, vault: Vault, actor: Actor): Promise<void> {
  const known = await knownVersions(history)
  const rows = await vault.list()
  const drafts: EventDraft[] = rows
    .filter(({ name, version }) => known.get(name) !== version)
    .map(({ name, version, origin, sealer }) =>
      draft('credential.sealed', { credential: name, version, origin, sealer }, { actor }),
    )
  for (const name of known.keys())
    if (!rows.some((row) => row.name === name))
      drafts.push(draft('credential.removed', { credential: name }, { actor }))
  if (drafts.length > 0) await history.append(drafts)
}

async function knownVersions(history: History): Promise<Map<string, number>> {
  const known = new Map<string, number>()
  for (let after: number | null = 0; after !== null; ) {
    const kinds = ['credential.sealed', 'credential.removed'] as const
    const page: Awaited<ReturnType<History['read']>> = await history.read(
      { agent: null },
      { kinds, after, limit: 1000 },
    )
    for (const { kind, data } of page.events) {
      if (kind === 'credential.sealed') known.set(data.credential, data.version)
      if (kind === 'credential.removed') known.delete(data.credential)
    }
    after = page.next
  }
  return known
}
