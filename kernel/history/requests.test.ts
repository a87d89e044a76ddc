import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '../store/chain.ts'
import { openForReading } from '../store/sqlite.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory()
})
afterAll(() => test.close())

type Items = { kind: 'instructions' | 'tools' | 'item'; json: string }[]
const request = (instructions: string, tools: string, ...items: string[]): Items => [
  { kind: 'instructions', json: instructions },
  { kind: 'tools', json: tools },
  ...items.map((json) => ({ kind: 'item' as const, json })),
]
const put = (task: string, items: Items, model = 'm') => test.history.putRequest({ agent: 'a', task, model, items })

describe('a model request', () => {
  it('stands behind the earlier one that it goes on from, and says where it parts from it', async () => {
    const one = await put('T-1', request('i', 't', 'a', 'b'))
    expect(one).toMatchObject({
      parent: null,
      keptItems: 0,
      firstDifference: null,
      itemHashes: ['i', 't', 'a', 'b'].map(sha256),
    })
    const two = await put('T-1', request('i', 't', 'a', 'b', 'c'))
    expect(two).toMatchObject({ parent: one.id, keptItems: 4, firstDifference: null })
    const changed = await put('T-1', request('i', 't', 'a', 'B', 'c'))
    expect(changed).toMatchObject({
      parent: two.id,
      keptItems: 3,
      firstDifference: { index: 3, kind: 'item', before: sha256('b'), after: sha256('B') },
    })
    const tools = await put('T-1', request('i', 'T', 'a'))
    expect(tools.firstDifference).toEqual({ index: 1, kind: 'tools', before: sha256('t'), after: sha256('T') })
    const instructions = await put('T-1', request('I', 'T', 'a'))
    expect(instructions.firstDifference).toMatchObject({ index: 0, kind: 'instructions' })
    const shorter = await put('T-1', request('i', 't', 'a', 'b'))
    expect(shorter).toMatchObject({
      parent: two.id,
      keptItems: 4,
      firstDifference: { index: 4, kind: 'item', after: null },
    })
    const model = await put('T-1', request('i', 't', 'a', 'b', 'c', 'd'), 'other')
    expect(model).toMatchObject({
      parent: two.id,
      keptItems: 5,
      firstDifference: { index: 0, kind: 'model', before: null, after: null },
    })
    expect(await test.history.getRequest(changed.id)).toEqual({
      agent: 'a',
      task: 'T-1',
      model: 'm',
      items: request('i', 't', 'a', 'B', 'c').map(({ kind, json }) => ({ kind, hash: sha256(json) })),
    })
  })

  it('has no parent in another task', async () => {
    expect(await put('T-2', request('i', 't', 'a', 'b'))).toMatchObject({ parent: null, keptItems: 0 })
  })

  it('is found whole after a restart, and goes on from there', async () => {
    const before = await put('T-3', request('i', 't', 'x', 'y'))
    await test.reopen()
    expect(await put('T-3', request('i', 't', 'x', 'y', 'z'))).toMatchObject({ parent: before.id, keptItems: 4 })
    expect((await test.history.getRequest(before.id)).items).toHaveLength(4)
    await expect(test.history.getRequest(999_999)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('lets its agent, and no other, read its items', async () => {
    await put('T-4', request('mine', 't', 'secret item'))
    expect(await test.history.mayRead('a', sha256('secret item'))).toBe(true)
    expect(await test.history.mayRead('b', sha256('secret item'))).toBe(false)
    expect(String(await test.history.getBlob(sha256('secret item')))).toBe('secret item')
  })

  it('costs storage only for what is new in it', async () => {
    const count = () => {
      const db = openForReading(join(test.dataDir, 'history.db'))
      const rows = db
        .prepare('SELECT (SELECT count(*) FROM request_items) + (SELECT count(*) FROM blobs)')
        .pluck()
        .get()
      db.close()
      return rows as number
    }
    const before = count()
    const items: string[] = []
    for (let n = 0; n < 100; n += 1) {
      items.push(`linear ${n}`)
      await put('T-5', request('I-5', 'T-5', ...items))
    }
    expect(count() - before).toBe(2 * 102)
  })

  it('is given back as it was put, whatever came before', async () => {
    const items = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 })
    let task = 100
    await fc.assert(
      fc.asyncProperty(fc.array(items, { minLength: 1, maxLength: 15 }), async (requests) => {
        task += 1
        const put1 = await Promise.all(
          requests.map((texts) =>
            test.history.putRequest({ agent: 'a', task: `T-${task}`, model: 'm', items: request('i', 't', ...texts) }),
          ),
        )
        for (const [index, stored] of put1.entries()) {
          const wanted = request('i', 't', ...(requests[index] ?? [])).map(({ kind, json }) => ({
            kind,
            hash: sha256(json),
          }))
          expect((await test.history.getRequest(stored.id)).items).toEqual(wanted)
        }
      }),
      { numRuns: 40 },
    )
  })
})
