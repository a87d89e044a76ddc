import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Notices } from '../notices.ts'
import { draft } from '../wire/events.ts'

/** What the operator does with notices: it is in history when it resolves. `hint` as their texts are shown. */
export function createNoticeDesk(parts: {
  history: Pick<History, 'append'>
  notices: Notices
  hint: (text: string) => string
}) {
  const { history, notices, hint } = parts
  return {
    async putAway({ id, text }: { id: string; text: string }): Promise<{ seq: number }> {
      const now = notices.list().find((notice) => notice.id === id)
      if (now === undefined) throw new KernelError('not-found', `there is no notice ${id} any more`)
      if (hint(now.text) !== text)
        throw new KernelError('conflict', 'this notice says something else now: read it again')
      const [event] = await history.append([
        draft('notice.put-away', { id, text: now.text }, { actor: 'operator', task: now.task }),
      ])
      notices.putAway(id, now.text)
      return { seq: event?.seq ?? 0 }
    },
  }
}
