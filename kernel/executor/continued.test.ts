import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { History, ReadOptions } from '../history/history.ts'
import { draft } from '../wire/events.ts'
import { continuedHistory } from './continued.ts'

let open: TestHistory
let forked: History
const note = (agent: string, task: string, text: string) =>
  draft('note.added', { text }, { actor: 'executor', agent, task, run: 'task' })

beforeAll(async () => {
  open = await openTestHistory()
  const { history } = open
  await history.append([1, 2, 3].map((n) => note('a', 'T-1', `then ${n}`)))
  const [at] = await history.append([note('a', 'T-2', 'another task')])
  const parent = { agent: 'a', seq: at?.seq ?? 0 }
  const revision = 'a'.repeat(64)
  await history.append([
    draft(
      'agent.forked',
      { name: 'f', parent, revision, trial: 'TR-1' },
      { actor: 'kernel', agent: 'f', run: 'trial' },
    ),
  ])
  await history.append([note('a', 'T-1', 'later, unseen'), ...[4, 5].map((n) => note('f', 'T-3', `then ${n}`))])
  forked = continuedHistory(history, 'T-3', { task: 'T-1', upTo: parent.seq })
})
afterAll(() => open.close())

async function pages(options: ReadOptions): Promise<string[][]> {
  const all: string[][] = []
  for (let at: number | null | undefined; at !== null; ) {
    const where = at === undefined ? {} : options.order === 'desc' ? { before: at } : { after: at }
    const page = await forked.read({ agent: 'f' }, { task: 'T-3', kinds: ['note.added'], ...options, ...where })
    all.push(page.events.map(({ task, data }) => `${task} ${(data as { text: string }).text}`))
    at = page.next
  }
  return all
}

it('reads as one task, under its first name, either way round and whatever a page holds', async () => {
  const whole = [1, 2, 3, 4, 5].map((n) => `T-1 then ${n}`)
  for (const limit of [1, 2, 3, 4, 5, 100]) {
    expect((await pages({ limit })).flat()).toEqual(whole)
    expect((await pages({ limit, order: 'desc' })).flat()).toEqual([...whole].reverse())
  }
  expect((await pages({ limit: 100 })).length).toBe(1)
  const found = await forked.search({ agent: 'f' }, 'then', { task: 'T-3', limit: 3 })
  expect(found.events.map(({ task, data }) => [task, (data as { text: string }).text])).toEqual([
    ['T-1', 'then 5'],
    ['T-1', 'then 4'],
    ['T-1', 'then 3'],
  ])
  // Of the agent as a whole, too, its own task has the name that the executor knows it by; others keep theirs.
  const all = await forked.read({ agent: 'f' }, { kinds: ['note.added'] })
  expect(all.events.map(({ task }) => task)).toEqual(['T-1', 'T-1', 'T-1', 'T-2', 'T-1', 'T-1'])
})
