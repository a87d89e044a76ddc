import { describe, expect, it } from 'vitest'
import { type Draft, draftKey, emptyDraft, loadDraft, saveDraft } from './draft.ts'

function storeOf(limit = Number.POSITIVE_INFINITY) {
  const values = new Map<string, string>()
  return {
    values,
    get length() {
      return values.size
    },
    key: (n: number) => [...values.keys()][n] ?? null,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > limit) throw new Error('the quota has been exceeded')
      values.set(key, value)
    },
    removeItem: (key: string) => void values.delete(key),
  }
}

const draft: Draft = {
  marks: { 'a.ts\n1': 'rejected', 'a.ts\n2': 'accepted' },
  fallen: { 'a.ts\n1': 'no retry here' },
  comments: [{ path: 'a.ts', side: 'before', line: 3, text: 'why?' }],
  edits: { 'a.ts': 'export {}\n' },
  overrides: { replay: 'nothing recorded reaches it' },
  reason: 'half of it',
  category: 'style',
  onBreach: 'rollback',
}
const key = draftKey('scout', 'P-4', 'f'.repeat(64))

describe('a draft of a review', () => {
  it('comes back whole after a reload', () => {
    const store = storeOf()
    expect(saveDraft(store, key, draft, 1)).toBeNull()
    expect(loadDraft(store, key)).toEqual(draft)
  })

  it('belongs to one proposal of one revision', () => {
    const store = storeOf()
    saveDraft(store, key, draft, 1)
    expect(loadDraft(store, draftKey('scout', 'P-4', 'e'.repeat(64)))).toEqual(emptyDraft)
    expect(loadDraft(store, draftKey('scout', 'P-5', 'f'.repeat(64)))).toEqual(emptyDraft)
  })

  it('leaves nothing behind when it is empty again', () => {
    const store = storeOf()
    saveDraft(store, key, draft, 1)
    saveDraft(store, key, emptyDraft, 2)
    expect(store.values.size).toBe(0)
  })

  it('says when it cannot be kept', () =>
    expect(saveDraft(storeOf(10), key, draft, 1)).toMatch(/not kept over a reload: .*quota/))

  it('takes only what is a draft from whatever stands there', () => {
    const store = storeOf()
    for (const value of [
      '',
      '{',
      'null',
      '[]',
      '7',
      '{"marks":{"a":"maybe"},"comments":[{"path":1}],"category":"x"}',
    ]) {
      store.values.set(key, value)
      expect(loadDraft(store, key)).toEqual(emptyDraft)
    }
  })

  it('makes way when there are many, the oldest first', () => {
    const store = storeOf()
    for (let n = 1; n <= 60; n++) saveDraft(store, draftKey('scout', `P-${n}`, 'f'.repeat(64)), draft, n)
    expect(store.values.size).toBe(41)
    expect(loadDraft(store, draftKey('scout', 'P-60', 'f'.repeat(64)))).toEqual(draft)
    expect(loadDraft(store, draftKey('scout', 'P-19', 'f'.repeat(64)))).toEqual(emptyDraft)
  })
})
