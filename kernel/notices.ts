import type { Notice } from './wire/operator.ts'

/** What is wrong now, in plain words, for every screen: raised by whoever finds it, taken back by whoever sees it mended. */
export interface Notices {
  /** Puts it in place of an earlier one of the same id. */
  raise(notice: Notice): void
  /** Nothing happens where there is none. */
  clear(id: string): void
  /** Marks what says just this, now or when it is raised, until it is cleared or says something else. */
  putAway(id: string, text: string): void
  /** Errors first, then in order of raising. */
  list(): Notice[]
  /** Called with each change. Returns its undoing. */
  onChange(listener: (change: { id: string; notice: Notice | null }) => void): () => void
}

const rank: Readonly<Record<Notice['severity'], number>> = { error: 0, warning: 1, info: 2 }

export function createNotices(): Notices {
  const notices = new Map<string, Notice>()
  /** Texts by id. */
  const away = new Map<string, string>()
  const listeners = new Set<(change: { id: string; notice: Notice | null }) => void>()
  const tell = (id: string, notice: Notice | null): void => {
    for (const listener of listeners) listener({ id, notice })
  }
  return {
    raise(notice) {
      const before = notices.get(notice.id)
      if (before !== undefined && JSON.stringify(before) === JSON.stringify(notice)) return
      notices.set(notice.id, notice)
      if (away.get(notice.id) !== notice.text) away.delete(notice.id)
      tell(notice.id, notice)
    },
    clear(id) {
      away.delete(id)
      if (notices.delete(id)) tell(id, null)
    },
    putAway(id, text) {
      const now = notices.get(id)
      if (now === undefined || now.text === text) away.set(id, text)
    },
    list: () =>
      [...notices.values()]
        .map((one) => (away.has(one.id) ? { ...one, isPutAway: true } : one))
        .sort((a, b) => rank[a.severity] - rank[b.severity]),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
