import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexFile, openIndex } from '../store/search/index-file.ts'
import { openForReading } from '../store/sqlite.ts'
import { indexBatch } from '../store/threads/index.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'

let test: TestHistory
beforeAll(async () => {
  test = await openTestHistory()
})
afterAll(() => test.close())

/** As the thread that follows the log does, but now. `change` is made to the index before it is opened for that. */
function indexAll(change?: string): void {
  const log = openForReading(join(test.dataDir, 'history.db'))
  if (change !== undefined) {
    const before = openIndex(test.dataDir, log)
    before.exec(change)
    before.close()
  }
  const words = openIndex(test.dataDir, log)
  while (indexBatch(log, words)) {}
  log.close()
  words.close()
}
const note = (text: string, agent = 'a', task: string | null = null) =>
  ({ kind: 'note.added', data: { text }, actor: 'executor', agent, task }) as const
const find = async (
  text: string,
  options: { agent?: string | null; task?: string; before?: number; limit?: number } = {},
) => {
  const { agent = null, ...rest } = options
  const page = await test.history.search({ agent }, text, rest)
  return page.events.map(({ seq }) => seq)
}

describe('a search', () => {
  it('finds the same with the index of words as without, whatever is asked', async () => {
    const piece = fc.constantFrom(
      'alpha',
      'Alphabet',
      'ßig',
      'x-ray',
      '100%',
      '"q"',
      '\n',
      ' ',
      '…',
      'e\u0301',
      '\\',
      '日本',
    )
    const texts = fc.sample(
      fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
      300,
    )
    await test.history.append(texts.map((text, n) => note(text, n % 2 === 0 ? 'a' : 'b', `T-${n % 3}`)))
    const asked = [
      'alpha',
      'ALPHAB',
      'bet',
      'ßig',
      'x-ra',
      'ray',
      '100',
      '100%',
      '"q"',
      '\nalpha',
      'é',
      '日',
      '%',
      'text":"alpha',
    ]
    const options = [
      {},
      { agent: 'a' },
      { task: 'T-1' },
      { agent: 'b', task: 'T-2', limit: 3 },
      { before: 150, limit: 7 },
    ]
    const all = async () => {
      const found: number[][] = []
      for (const text of asked) for (const option of options) found.push(await find(text, option))
      return found
    }
    rmSync(indexFile(test.dataDir), { force: true })
    const scanned = await all()
    expect(scanned.some((seqs) => seqs.length > 0)).toBe(true)
    indexAll()
    await test.reopen()
    expect(await all()).toEqual(scanned)
    // Part of it in the index, part not yet.
    await test.history.append(texts.map((text) => note(text, 'a', 'T-1')))
    const [newest] = await find('alpha')
    expect(newest).toBeGreaterThan(300)
  })

  it('goes on page by page, newest first', async () => {
    await test.history.append(Array.from({ length: 25 }, (_, n) => note(`paging ${n}`)))
    indexAll()
    const seen: number[] = []
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      const page: Awaited<ReturnType<typeof test.history.search>> = await test.history.search(
        { agent: null },
        'paging',
        { before, limit: 10 },
      )
      seen.push(...page.events.map(({ seq }) => seq))
      before = page.next
    }
    expect(seen).toHaveLength(25)
    expect(seen).toEqual([...seen].sort((a, b) => b - a))
  })

  it('no longer finds a payload that was removed, and its words are in no file', async () => {
    const [secret] = await test.history.append([note('sk-zanzibarkey leaked')])
    indexAll()
    await test.reopen()
    expect(await find('zanzibarkey')).toEqual([secret?.seq])
    await test.history.append([
      {
        kind: 'payload.tombstoned',
        data: { seq: secret?.seq ?? 0, reason: 'a leaked key' },
        actor: 'operator',
        agent: 'a',
      },
    ])
    indexAll()
    expect(await find('zanzibarkey')).toEqual([])
    await test.history.close()
    for (const name of ['history-search.db', 'history-search.db-wal', 'history.db']) {
      const file = join(test.dataDir, name)
      if (existsSync(file)) expect(readFileSync(file, 'latin1').toLowerCase()).not.toContain('zanzibarkey')
    }
    await test.reopen()
  })

  it('stands on the log alone where the index is damaged, of another log, or gone', async () => {
    await test.history.append([note('quetzal one')])
    const [seq] = await find('quetzal')
    indexAll()
    await test.history.close()
    const { writeFileSync } = await import('node:fs')
    writeFileSync(indexFile(test.dataDir), 'no database '.repeat(4_000))
    await test.reopen()
    expect(await find('quetzal')).toEqual([seq])
    indexAll()
    expect(await find('quetzal')).toEqual([seq])
    indexAll("UPDATE parts SET hash = 'of another'")
    const words = openForReading(indexFile(test.dataDir))
    expect(words.prepare('SELECT hash FROM parts').pluck().all()).toEqual([test.history.head()?.hash])
    words.close()
    expect(await find('quetzal')).toEqual([seq])
  })
})
