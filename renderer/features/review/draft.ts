import type { Comment } from '../../../kernel/wire/events.ts'
import type { Mark } from './hunks.ts'

// What the operator has begun and not sent: kept in this browser, for exactly this proposal and revision.

export const categories = ['wrong-idea', 'unsafe', 'not-worth-the-cost', 'style', 'duplicate', 'other'] as const
export type Category = (typeof categories)[number]

export interface Draft {
  /** By `keyOf` a hunk. */
  marks: Record<string, Mark>
  /** Why a hunk falls. */
  fallen: Record<string, string>
  comments: Comment[]
  /** Whole texts by path. */
  edits: Record<string, string>
  /** Why an unresolved check is approved all the same. */
  overrides: Record<string, string>
  reason: string
  category: Category | null
  onBreach: 'propose' | 'rollback'
}

export const emptyDraft: Draft = {
  marks: {},
  fallen: {},
  comments: [],
  edits: {},
  overrides: {},
  reason: '',
  category: null,
  onBreach: 'propose',
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>
const prefix = 'exodesk.review/'
const kept = 40

export function draftKey(agent: string, proposal: string, revision: string): string {
  return `${prefix}${agent}/${proposal}/${revision}`
}

export function loadDraft(store: Store, key: string): Draft {
  try {
    return readDraft(JSON.parse(store.getItem(key) ?? 'null'))
  } catch {
    return emptyDraft
  }
}

/** What cannot be kept is said: null, or why. Older drafts make way. */
export function saveDraft(store: Store, key: string, draft: Draft, now: number): string | null {
  try {
    if (isEmpty(draft)) store.removeItem(key)
    else store.setItem(key, JSON.stringify({ savedAt: now, ...draft }))
    makeWay(store, key)
    return null
  } catch (error) {
    return `Your marks and words are not kept over a reload: ${error instanceof Error ? error.message : String(error)}`
  }
}

function isEmpty(draft: Draft): boolean {
  const { reason, comments, category, onBreach, ...records } = draft
  const isBare = reason === '' && comments.length === 0 && category === null && onBreach === 'propose'
  return isBare && Object.values(records).every((record) => Object.keys(record).length === 0)
}

function makeWay(store: Store, current: string): void {
  const others: { key: string; savedAt: number }[] = []
  for (let n = 0; n < store.length; n++) {
    const key = store.key(n)
    if (key?.startsWith(prefix) && key !== current) others.push({ key, savedAt: savedAtOf(store.getItem(key)) })
  }
  for (const { key } of others.toSorted((a, b) => b.savedAt - a.savedAt).slice(kept)) store.removeItem(key)
}

function savedAtOf(value: string | null): number {
  try {
    const { savedAt } = JSON.parse(value ?? '{}') as { savedAt?: unknown }
    return typeof savedAt === 'number' ? savedAt : 0
  } catch {
    return 0
  }
}

/** Whatever stands there, only what is a draft comes back. */
function readDraft(value: unknown): Draft {
  if (typeof value !== 'object' || value === null) return emptyDraft
  const found = value as Partial<Record<keyof Draft, unknown>>
  return {
    marks: recordOf(found.marks, (mark): mark is Mark => mark === 'accepted' || mark === 'rejected'),
    fallen: recordOf(found.fallen, isText),
    comments: Array.isArray(found.comments) ? found.comments.filter(isComment) : [],
    edits: recordOf(found.edits, isText),
    overrides: recordOf(found.overrides, isText),
    reason: isText(found.reason) ? found.reason : '',
    category: categories.find((each) => each === found.category) ?? null,
    onBreach: found.onBreach === 'rollback' ? 'rollback' : 'propose',
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function recordOf<T>(value: unknown, is: (each: unknown) => each is T): Record<string, T> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, T] => is(entry[1])))
}

function isComment(value: unknown): value is Comment {
  const { path, side, line, text } = (value ?? {}) as Partial<Comment>
  return isText(path) && (side === 'before' || side === 'after') && Number.isSafeInteger(line) && isText(text)
}
