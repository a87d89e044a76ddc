import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexFile, openIndex } from '../store/search/index-file.ts'
import { openForReading } from '../store/sqlite.ts'
import { indexBatch } from '../store/threads/index.ts'
import { draft, type Event, type EventDraft } from '../wire/events.ts'
import { openTestHistory, type TestHistory } from './fixture.ts'
import type { FindOptions } from './history.ts'

const one = '1'.repeat(64)
const two = '2'.repeat(64)
const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }

let test: TestHistory
let log: Event[]
beforeAll(async () => {
  test = await openTestHistory()
  const drafts: EventDraft[] = []
  for (let n = 0; n < 120; n += 1) {
    const revision = n < 60 ? one : two
    const header = {
      agent: n % 2 === 0 ? 'a' : 'b',
      task: `T-${(n % 2) + 1}`,
      turn: 1 + Math.floor(n / 40),
      step: 1 + Math.floor(n / 8),
      revision,
    }
    const by = { ...header, actor: 'kernel' } as const
    if (n % 4 < 2) {
      const outcome = n % 12 === 0 ? 'error' : 'ok'
      const data = {
        call: `c${n}`,
        name: n % 8 < 4 ? 'shell' : 'build index',
        outcome,
        output: `timeout ${n}`,
        outputBytes: 9,
        durationMs: 1,
      }
      drafts.push(draft('tool.finished', data as never, by))
    } else if (n % 4 === 2) drafts.push(draft('task.steered', { text: `hurry ${n}` }, { ...header, actor: 'operator' }))
    else drafts.push(modelCalled(by, n * 1_000_000))
  }
  log = await test.history.append(drafts)
})
afterAll(() => test.close())

function modelCalled(header: Omit<EventDraft, 'kind' | 'data'>, costNanoUsd: number): EventDraft {
  const data = {
    ...{
      request: 0,
      parent: null,
      keptItems: 0,
      items: 0,
      api: 'responses',
      model: 'm',
      simulated: true,
      status: 'completed',
    },
    ...{
      attempts: 1,
      usage,
      usageSource: 'reported',
      costNanoUsd,
      costReason: null,
      priceVersion: null,
      durationMs: 1,
    },
    ...{ firstByteMs: null, output: [], firstDifference: null, error: null },
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
  } as const
  return draft('model.called', data as never, header as never) as EventDraft
}

const dataOf = (event: Event) => event.data as Record<string, unknown>
const cases: [string, string | null, FindOptions, (event: Event) => boolean][] = [
  ['a tool', null, { tool: 'build index' }, (event) => dataOf(event).name === 'build index'],
  ['what failed', null, { failed: true }, (event) => dataOf(event).outcome === 'error'],
  ['a cost above', null, { minCost: 60_000_001 }, (event) => Number(dataOf(event).costNanoUsd) > 60_000_000],
  [
    'a cost between',
    null,
    { minCost: 7_000_000, maxCost: 31_000_000 },
    (event) => {
      const cost = Number(dataOf(event).costNanoUsd)
      return cost >= 7_000_000 && cost <= 31_000_000
    },
  ],
  ['a revision', null, { revisions: [two] }, (event) => event.revision === two],
  ['revisions and a task', null, { revisions: [one, two], task: 'T-1' }, (event) => event.task === 'T-1'],
  ['an actor', null, { actor: 'operator' }, (event) => event.actor === 'operator'],
  ['a step of a turn', null, { task: 'T-1', turn: 1, step: 2 }, (event) => event.task === 'T-1' && event.step === 2],
  ['a turn', null, { task: 'T-2', turn: 2 }, (event) => event.task === 'T-2' && event.turn === 2],
  [
    'text and a tool',
    'timeout',
    { tool: 'shell', failed: true },
    (event) => dataOf(event).name === 'shell' && dataOf(event).outcome === 'error',
  ],
  ['a kind and an actor', null, { kinds: ['task.steered'], actor: 'kernel' }, () => false],
  ['everything', null, {}, () => true],
]

describe('finding', () => {
  const find = async (text: string | null, options: FindOptions) =>
    (await test.history.find({ agent: null }, text, { limit: 1000, ...options })).events.map(({ seq }) => seq)
  const all = () => Promise.all(cases.map(([, text, options]) => find(text, options)))
  const wanted = () =>
    cases.map(([, , , holds]) =>
      log
        .filter(holds)
        .map(({ seq }) => seq)
        .toReversed(),
    )

  it('gives the same from the log, from the index, and from one that trails the log', async () => {
    await test.history.close()
    rmSync(indexFile(test.dataDir), { force: true })
    await test.reopen()
    expect(await all()).toEqual(wanted())
    indexAll()
    await test.reopen()
    expect(await all()).toEqual(wanted())
    const [late] = await test.history.append([
      draft('task.steered', { text: 'late' }, { actor: 'operator', agent: 'a' }),
    ])
    expect(await find(null, { actor: 'operator', limit: 1 })).toEqual([late?.seq])
    log.push(late as Event)
    expect(await all()).toEqual(wanted())
  })

  it('goes on page by page, sees its view alone, and picks single events', async () => {
    const seen: number[] = []
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      const page: Awaited<ReturnType<typeof test.history.find>> = await test.history.find({ agent: 'b' }, null, {
        tool: 'shell',
        before,
        limit: 4,
      })
      seen.push(...page.events.map(({ seq }) => seq))
      before = page.next
    }
    const mine = log.filter((event) => event.agent === 'b' && dataOf(event).name === 'shell')
    expect(seen).toEqual(mine.map(({ seq }) => seq).toReversed())
    expect(await find(null, { seqs: [5, 2, 9_999], actor: 'kernel' })).toEqual(
      [5, 2].filter((seq) => log[seq - 1]?.actor === 'kernel'),
    )
  })

  it('counts what it finds by kind, task, agent, tool and failure', async () => {
    const facets = await test.history.facets({ agent: null }, null, { task: 'T-1' })
    const mine = log.filter(({ task }) => task === 'T-1')
    expect(facets).toMatchObject({
      count: mine.length,
      isCut: false,
      failed: mine.filter((event) => dataOf(event).outcome === 'error').length,
      tasks: [['T-1', mine.length]],
      agents: [['a', mine.length]],
    })
    expect(facets.tools.reduce((sum, [, count]) => sum + count, 0)).toBe(
      mine.filter(({ kind }) => kind === 'tool.finished').length,
    )
    expect((await test.history.facets({ agent: null }, 'hurry', {})).kinds).toEqual([['task.steered', 30]])
  })
})

function indexAll(): void {
  const events = openForReading(join(test.dataDir, 'history.db'))
  const words = openIndex(test.dataDir, events)
  while (indexBatch(events, words)) {}
  events.close()
  words.close()
}
