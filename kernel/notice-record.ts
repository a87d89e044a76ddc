import type { History } from './history/history.ts'
import type { Notices } from './notices.ts'
import { draft } from './wire/events.ts'

/** What the operator put away before this start and nothing has mended since: it stays away. */
export async function rememberPutAway(notices: Notices, history: Pick<History, 'read'>): Promise<void> {
  const away = new Map<string, string>()
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<History['read']>> = await history.read(
      { agent: null },
      { kinds: ['notice.put-away', 'notice.cleared'], after, limit: 1000 },
    )
    for (const event of page.events)
      if (event.kind === 'notice.put-away') away.set(event.data.id, event.data.text)
      else if (event.kind === 'notice.cleared') away.delete(event.data.id)
    after = page.next
  }
  for (const [id, text] of away) notices.putAway(id, text)
}

/**
 * Keeps in history what every screen says is wrong, as it is raised and cleared. What is wrong may be the store itself: then
 * the notice stands without its event. Returns its undoing.
 */
export function recordNotices(notices: Notices, history: Pick<History, 'append'>): () => void {
  let queue: Promise<unknown> = Promise.resolve()
  const record = (event: Parameters<History['append']>[0][number]): void => {
    queue = queue.then(() => history.append([event])).catch(() => {})
  }
  const raised = ({ id, severity, text }: { id: string; severity: 'error' | 'warning' | 'info'; text: string }) =>
    record(draft('notice.raised', { id, severity, text }, { actor: 'kernel' }))
  for (const notice of notices.list()) raised(notice)
  return notices.onChange(({ id, notice }) => {
    if (notice === null) record(draft('notice.cleared', { id }, { actor: 'kernel' }))
    else raised(notice)
  })
}
