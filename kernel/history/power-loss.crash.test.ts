// A power loss at any moment: what a program wrote and synced is recorded, then played back up to a random point, where
// every write since its sync may be there, be gone, or be torn. Whatever is left must open, verify, and hold all that was
// acknowledged. EXODESK_FULL=1 plays 400 losses in place of 14.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { Disk } from '../testing/disk-image.ts'
import { type DiskCall, recordDisk, straceMissing } from '../testing/disk-trace.ts'
import { agent, openTestGuardian, policy } from '../testing/guardian.ts'
import type { History } from './history.ts'
import { openHistory } from './open.ts'

const losses = process.env.EXODESK_FULL === '1' ? 400 : 14
/** As long as a busy machine may take over them. */
const patience = Math.max(900_000, losses * 10_000)
if (straceMissing !== null) process.stdout.write(`skipped: power losses: ${straceMissing}\n`)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exodesk-power-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** mulberry32: the same losses each time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296
  }
}

async function record(victim: string, args: string[] = []): Promise<DiskCall[]> {
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const script = join(import.meta.dirname, '../testing', victim)
  return recordDisk([process.execPath, script, dataDir, ...args], dataDir, join(folder, 'trace'))
}

/** Plays `count` losses, each from the start to a random call; hands over the folder that is left and all that was said by then. */
async function lose(
  calls: readonly DiskCall[],
  count: number,
  look: (dataDir: string, said: string, cut: number) => Promise<void>,
): Promise<void> {
  const random = seeded(20261130)
  // Every other in the last third: a start writes much, and what matters comes after it. One at the very end.
  const from = (n: number) => (n % 2 === 0 ? 0 : Math.floor((calls.length * 2) / 3))
  const cuts = Array.from(
    { length: count - 1 },
    (_, n) => from(n) + Math.floor(random() * (calls.length + 1 - from(n))),
  )
  cuts.push(calls.length)
  cuts.sort((a, b) => a - b)
  const disk = new Disk()
  let said = ''
  let at = 0
  for (const cut of cuts) {
    for (; at < cut; at += 1) {
      const call = calls[at] as DiskCall
      disk.apply(call)
      if (call.call === 'said') said += call.text
    }
    const dataDir = join(folder, `image-${cut}`)
    disk.image(dataDir, random)
    await look(dataDir, said, cut)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function reopen(dataDir: string): Promise<History> {
  const history = await openHistory({ dataDir, clock: systemClock, version: 'test' })
  expect(history.problem).toBeNull()
  expect(await history.verify()).toMatchObject({ ok: true })
  return history
}

describe.skipIf(straceMissing !== null)('a power loss', { timeout: patience }, () => {
  it('[C3] [F4] in the middle of appends loses no acknowledged event', async () => {
    const calls = await record('history-victim.ts')
    // The recorder sees what it must: commits are synced, and the log was moved into the database more than once.
    expect(calls.filter(({ call }) => call === 'said').length).toBeGreaterThanOrEqual(120)
    const synced = calls.flatMap((call) => (call.call === 'sync' ? [call.path] : []))
    expect(synced.filter((path) => path === 'history.db-wal').length).toBeGreaterThan(40)
    expect(synced.filter((path) => path === 'history.db').length).toBeGreaterThan(2)
    let acknowledged = 0
    await lose(calls, losses, async (dataDir, said, cut) => {
      const history = await reopen(dataDir)
      const lines = said.split('\n').slice(0, -1)
      for (const line of lines) {
        const [seq, hash] = line.split(' ')
        const event = await history.get({ agent: null }, Number(seq))
        expect({ cut, seq, hash: event?.hash }).toEqual({ cut, seq, hash })
      }
      acknowledged += lines.length
      await history.close()
    })
    expect(acknowledged).toBeGreaterThan(0)

    // On a disk that only says it has synced, the same losses do lose events: the test can tell.
    const lying = calls.filter(({ call }) => call !== 'sync')
    let lost = 0
    await lose(lying, 12, async (dataDir, said) => {
      const history = await openHistory({ dataDir, clock: systemClock, version: 'test' }).catch(() => null)
      const last = Number(said.trim().split('\n').at(-1)?.split(' ')[0] ?? 0)
      if (history === null || (history.head()?.seq ?? 0) < last) lost += 1
      await history?.close()
    })
    expect(lost).toBeGreaterThan(0)
  })

  it('[F5] in the middle of an activation leaves one active revision, old or new, whose bytes have its hash', async () => {
    const calls = await record('guardian-victim.ts', ['running'])
    const seen = new Set<number>()
    await lose(calls, losses, async (dataDir, said) => {
      const before = await reopen(dataDir)
      const created = (await before.read({ agent: null }, { kinds: ['agent.created'] })).events.length > 0
      await before.close()
      if (!created) {
        expect(said).toBe('')
        return
      }
      const test = await openTestGuardian({ dataDir, createAgent: false })
      try {
        const active = await test.guardian.active(agent)
        // An agent's birth is several commits: until it is whole, there is nothing to activate.
        if (active === null) return
        seen.add(active.activation)
        if (said.includes('"activation"')) expect(active.activation).toBe(2)
        const tree = await test.revisions.read(active.revision)
        expect(await test.revisions.put(tree)).toBe(active.revision)
        await test.guardian.recover()
        await test.guardian.settled(agent)
        const after = await test.guardian.active(agent)
        expect(await test.history.verify()).toMatchObject({ ok: true })
        const two = await test.revisions.put(policy('two'))
        if (active.activation === 2) expect(after).toMatchObject({ activation: 2, revision: two })
      } finally {
        await test.guardian.close()
        await test.history.close()
      }
    })
    expect([...seen].sort()).toEqual([1, 2])
  })
})
