import { closeSync, copyFileSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../kernel/clock.ts'
import type { History } from '../kernel/history/history.ts'
import { openHistory } from '../kernel/history/open.ts'
import { genesis, link, sha256 } from '../kernel/store/chain.ts'
import { indexFile } from '../kernel/store/search/index-file.ts'
import { openForReading } from '../kernel/store/sqlite.ts'
import { startVerifier } from '../kernel/store/store.ts'
import { commonWord, draftOf, fill, rareWord } from './log.ts'
import { measureReference } from './reference.ts'
import { atMost, type Bench, quantile, type Row, rate, time, told } from './row.ts'

const version = 'bench'
const open = (dataDir: string) => openHistory({ dataDir, clock: systemClock, version })

/** Reads at the smallest size, which those at larger ones are held to. */
interface Base {
  openMs: number
  lastPageMs: number
}

export const bench: Bench = async function* ({ sizes, folder }) {
  yield* appends(join(folder, 'appends'))
  let base: Base | null = null
  for (const size of [...new Set([10_000, ...sizes])].sort((a, b) => a - b)) {
    const dataDir = join(folder, `h${size}`)
    const own: Base = yield* atSize(dataDir, size, base, sizes.includes(size))
    base ??= own
    rmSync(dataDir, { recursive: true, force: true })
    if (sizes.includes(size) && size <= 100_000) yield* againstReference(folder, size)
  }
}

/** Each in turn with its ceiling, so that both meet the same machine. */
async function* appends(dataDir: string): AsyncGenerator<Row> {
  const history = await open(dataDir)
  const bytes = (from: number, count: number) =>
    Buffer.from(Array.from({ length: count }, (_, n) => `${JSON.stringify(draftOf(from + n))}\n`).join(''))
  const raw = rawFile(`${dataDir}.raw`)
  const own: number[] = []
  const synced: number[] = []
  for (let n = 0; n < 400; n += 1) {
    const one = bytes(n, 1)
    synced.push(raw.append(() => one, true))
    own.push(await timed(() => history.append([draftOf(n)])))
  }
  const ceiling = { what: 'write + fdatasync', value: quantile(synced, 0.5) }
  yield time('one durable append, p50', quantile(own, 0.5), ceiling, 0.7)
  yield told('one durable append, p99', { value: quantile(own, 0.99), unit: 'ms' })
  for (const group of [100, 500]) {
    const [durable, lines, times]: [number[], number[], number[]] = [[], [], []]
    for (let n = 0; n < 60; n += 1) {
      const made = bytes(n * group, group)
      durable.push(raw.append(() => made, true))
      lines.push(raw.append(() => bytes(n * group, group), false))
      const drafts = Array.from({ length: group }, (_, k) => draftOf(n * group + k))
      times.push(await timed(() => history.append(drafts)))
    }
    const measured = { value: perSecond(group, times), unit: 'events/s' }
    const rawRate = { what: 'write + fdatasync', value: perSecond(group, durable) }
    yield rate(`groups of ${group}`, measured, rawRate, 0.4)
    const peer = { what: 'stringify + write, no sync', value: perSecond(group, lines) }
    yield rate(`groups of ${group}, durable`, measured, peer, group === 100 ? 0.5 : 0.3)
  }
  raw.close()
  yield* offered(history)
  await history.close()
}

/** 2,000 events a second, one by one, as several agents would; how long anything else waits for the loop meanwhile. */
async function* offered(history: History): AsyncGenerator<Row> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const pending: Promise<unknown>[] = []
  delay.enable()
  const start = performance.now()
  let n = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (const due = ((performance.now() - start) / 1000) * 2_000; n < due; n += 1)
        pending.push(history.append([draftOf(n)]))
      if (n >= 6_000) {
        clearInterval(timer)
        resolve()
      }
    }, 2)
  })
  await Promise.all(pending)
  delay.disable()
  yield atMost('2,000 events/s offered: delay of the loop, p99', { value: delay.percentile(99) / 1e6, unit: 'ms' }, 5)
}

async function* atSize(dataDir: string, size: number, base: Base | null, isTold: boolean): AsyncGenerator<Row, Base> {
  const name = size.toLocaleString('en')
  let history = await open(dataDir)
  const filled = await fill(history, size)
  const indexMs = await timed(() => indexed(dataDir, size))
  await history.close()
  const opening = await timed(async () => {
    history = await open(dataDir)
  })
  const page = await median(20, () => history.read({ agent: null }, { order: 'desc', limit: 100 }))
  const own: Base = { openMs: opening, lastPageMs: page }
  if (isTold) {
    yield told(`${name}: filled, in commits of 500`, { value: filled, unit: 'events/s' })
    yield told(`${name}: index of words complete after`, { value: indexMs, unit: 'ms' })
    const first = base ?? own
    yield time(`${name}: open`, opening, { what: 'at 10,000', value: first.openMs }, 0.5)
    yield atMost(
      `${name}: verification at start`,
      { value: await median(3, () => history.verify({ full: false })), unit: 'ms' },
      200,
    )
    yield time(`${name}: last 100 with bodies`, page, { what: 'at 10,000', value: first.lastPageMs }, 0.25)
    const deep = await median(20, () =>
      history.read({ agent: null }, { after: Math.floor(Math.random() * (size - 100)), limit: 100 }),
    )
    yield time(`${name}: a page at any depth`, deep, { what: 'last 100', value: page }, 0.25)
    const kind = await median(20, () =>
      history.read({ agent: null }, { kinds: ['note.added'], order: 'desc', limit: 100 }),
    )
    yield time(`${name}: a page of one kind`, kind, { what: 'unfiltered', value: page }, 0.2)
    yield atMost(
      `${name}: search, newest 100 of a common word`,
      { value: await median(5, () => history.search({ agent: null }, commonWord)), unit: 'ms' },
      50,
    )
    yield atMost(
      `${name}: search, a rare word`,
      { value: await median(5, () => history.search({ agent: null }, rareWord)), unit: 'ms' },
      50,
    )
    yield atMost(
      `${name}: search, a common word in one task`,
      { value: await median(5, () => history.search({ agent: null }, commonWord, { task: 'T-1' })), unit: 'ms' },
      50,
    )
    yield atMost(
      `${name}: chart of a task and all totals`,
      {
        value: await median(5, () =>
          Promise.all([history.steps('T-1'), history.totals({}), history.totals({ sinceMs: 0 })]),
        ),
        unit: 'ms',
      },
      100,
    )
    yield* verification(dataDir, name, size, history)
    yield* backup(dataDir, name, size, history)
  }
  await history.close()
  return own
}

async function* verification(dataDir: string, name: string, size: number, history: History): AsyncGenerator<Row> {
  const sample = Math.min(size, 100_000)
  const from = performance.now()
  const verifier = await startVerifier(dataDir, version)
  yield told(`${name}: start of the threads that verify`, { value: performance.now() - from, unit: 'ms' })
  // Before and after, so that both meet the same machine.
  const before = pureChain(sample)
  const chainMs = await timed(() => verifier.verify(['chain']))
  const pure = (before + pureChain(sample)) / 2
  await verifier.close()
  const perMs = { value: (size / chainMs) * 1000, unit: 'events/s' }
  yield rate(`${name}: verification of the chain`, perMs, { what: 'SHA-256 alone, one thread', value: pure }, 0.4)
  const allMs = await timed(async () => {
    const { ok, problem } = await history.verify()
    if (!ok) throw new Error(`the history of the bench does not verify: ${problem}`)
  })
  yield told(
    `${name}: verification of everything`,
    { value: (size / allMs) * 1000, unit: 'events/s' },
    { what: 'SHA-256 alone', value: pure },
  )
}

async function* backup(dataDir: string, name: string, size: number, history: History): AsyncGenerator<Row> {
  const from = join(dataDir, 'history.db')
  const to = `${dataDir}.copy`
  const copyMs = await timed(() => {
    copyFileSync(from, to)
    const fd = openSync(to, 'r')
    fsyncSync(fd)
    closeSync(fd)
  })
  rmSync(to)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const backupMs = await timed(() => history.backUp(`${dataDir}.backup`, { verify: false }))
  delay.disable()
  rmSync(`${dataDir}.backup`, { recursive: true })
  const figure = `${name}: backup, without its verification`
  const ceiling = { what: 'copy + fsync', value: copyMs }
  // Of a small one most is the start of its thread, which is no matter of how fast it copies.
  if (size < 100_000) yield told(`${figure}, mostly its thread`, { value: backupMs, unit: 'ms' })
  else yield time(figure, backupMs, ceiling, 0.8)
  yield atMost(`${name}: longest the loop waited for it`, { value: delay.max / 1e6, unit: 'ms' }, 20)
}

async function* againstReference(folder: string, size: number): AsyncGenerator<Row> {
  const name = `${size.toLocaleString('en')}, one file an event`
  const files = join(folder, `files${size}`)
  const peer = measureReference(files, size, commonWord)
  rmSync(files, { recursive: true, force: true })
  const dataDir = join(folder, `own${size}`)
  const history = await open(dataDir)
  const filled = await fill(history, size)
  await indexed(dataDir, size)
  yield told(
    `${name}: appended`,
    { value: filled, unit: 'events/s' },
    { what: 'reference, not synced', value: peer.appendPerSecond },
  )
  const reads: [string, number, () => Promise<unknown>][] = [
    ['last 100', peer.lastPageMs, () => history.read({ agent: null }, { order: 'desc', limit: 100 })],
    [
      '100 of one kind',
      peer.byKindMs,
      () => history.read({ agent: null }, { kinds: ['note.added'], order: 'desc', limit: 100 }),
    ],
    ['search for a common word', peer.searchMs, () => history.search({ agent: null }, commonWord)],
  ]
  for (const [what, peerMs, read] of reads)
    yield time(`${name}: ${what}`, await median(10, read), { what: 'reference', value: peerMs }, 1)
  await history.close()
  rmSync(dataDir, { recursive: true, force: true })
}

/** What is appended to it as it is; `bytes` is called within the time, where making them is part of the work. */
function rawFile(file: string): { append(bytes: () => Buffer, isSynced: boolean): number; close(): void } {
  const fd = openSync(file, 'w')
  return {
    append(bytes, isSynced) {
      const start = performance.now()
      writeSync(fd, bytes())
      if (isSynced) fdatasyncSync(fd)
      return performance.now() - start
    },
    close() {
      closeSync(fd)
      rmSync(file)
    },
  }
}

/** What the hashes alone cost, over the same bytes. */
function pureChain(count: number): number {
  const rows = Array.from({ length: Math.min(count, 20_000) }, (_, n) => draftOf(n))
  const data = rows.map((draft) => JSON.stringify(draft.data))
  const start = performance.now()
  let hash = genesis
  for (let n = 0; n < count; n += 1) {
    const { agent, task, run, turn, step, actor, revision, kind } = rows[n % rows.length] as (typeof rows)[number]
    const header = [1_700_000_000_000, agent, task, run, null, turn, step, actor, revision, kind] as (
      | string
      | number
      | null
    )[]
    hash = link(n + 1, header, sha256(data[n % data.length] as string), hash)
  }
  return (count / (performance.now() - start)) * 1000
}

/** Resolves once the index of words has every event. */
async function indexed(dataDir: string, size: number): Promise<void> {
  for (;;) {
    try {
      const words = openForReading(indexFile(dataDir))
      const covered = words.prepare('SELECT sum(up_to - part * 250000) FROM parts').pluck().get()
      words.close()
      if (covered === size) return
    } catch {
      // It is being made.
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function perSecond(group: number, times: readonly number[]): number {
  return (group / quantile(times, 0.5)) * 1000
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function median(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = []
  for (let n = 0; n < times; n += 1) taken.push(await timed(work))
  return quantile(taken, 0.5)
}
