import type { EventRow } from '../../kernel/wire/operator.ts'

export const dayMs = 86_400_000

/** Proposals that became active, and ways back from one, after `since` (epoch ms): counted by event, not by how things stand. */
export function digestOf(
  events: readonly Pick<EventRow, 'kind' | 'at' | 'data'>[],
  since: number,
): { activated: number; rolledBack: number } {
  const recent = events.filter((event) => event.at > since)
  return {
    activated: recent.filter((event) => event.kind === 'revision.activated' && causeOf(event.data) === 'proposal')
      .length,
    rolledBack: recent.filter((event) => event.kind === 'revision.rolled-back').length,
  }
}

function causeOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined
}
