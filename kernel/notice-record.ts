import type { History } from './history/history.ts'
import type { Notices } from './notices.ts'
import { draft } from './wire/events.ts'

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
