import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestHistory } from '../history/fixture.ts'
import { verifyDataDir } from '../history/verify-only.ts'
import type { EventDraft } from '../wire/events.ts'
import { requireCurrentSchema } from './migrations.ts'
import { createQueries } from './queries.ts'
import { type Connection, openForReading, openPlain } from './sqlite.ts'
import { type Reader, verifyFully } from './verify/full.ts'

const runs = process.env.EXODESK_FULL === '1' ? 400 : 30

let scratch: string
let whole: string
/** With a write-ahead log that has not been taken into the database yet, as after a kill. */
let killed: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'exodesk-damage-'))
  whole = join(scratch, 'whole')
  killed = join(scratch, 'killed')
  const test = await openTestHistory({ dataDir: whole })
  await work(test.history, 0)
  await test.history.archive({ before: Date.now() + 1_000, minBytes: 20_000 })
  await test.reopen()
  await work(test.history, 1)
  cpSync(whole, killed, { recursive: true })
  await test.history.close()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function work(history: Awaited<ReturnType<typeof openTestHistory>>['history'], round: number): Promise<void> {
  const place = (step: number) =>
    ({ actor: 'kernel', agent: 'a', task: 'T-1', run: 'task', turn: round, step }) as const
  for (let step = 0; step < 12; step += 1) {
    const items = Array.from({ length: step + 1 }, (_, n) => ({
      kind: 'item' as const,
      json: `{"said":"${round} ${n}"}`,
    }))
    const request = await history.putRequest({ agent: 'a', task: 'T-1', model: 'm', items })
    const hash = await history.putBlob(`value ${round} ${step} ${'x'.repeat(step * 3_000)}`)
    await history.grantBlob('a', hash)
    const called: EventDraft<'model.called'>['data'] = {
      ...{ request: request.id, requestHash: request.hash, parent: request.parent, keptItems: request.keptItems },
      ...{ items: items.length, api: 'responses', model: 'm', simulated: true, status: 'completed', attempts: 1 },
      usage: { uncached: 5, cacheRead: 7, cacheWrite: 0, output: 3, reasoning: 0 },
      ...{ usageSource: 'reported', costNanoUsd: 11, costReason: null, priceVersion: null, durationMs: 1 },
      ...{ firstByteMs: null, output: [{ hash, type: 'message' }], firstDifference: null, error: null },
      composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
    }
    await history.append([
      { kind: 'model.called', data: called, ...place(step) },
      {
        kind: 'tool.called',
        data: { call: `c${step}`, name: 'shell', arguments: '{}', request: request.id },
        ...place(step),
      },
      { kind: 'task.progressed', data: { value: step, goal: 9, unit: 'u', source: 'measured' }, ...place(step) },
      { kind: 'artifact.written', data: { name: `n${round}-${step}`, version: 1, hash, sizeBytes: 9 }, ...place(step) },
    ])
  }
}

/** Everything that can be read of it: what a damage must not change unnoticed. */
function contents(dataDir: string): string {
  // In a copy, since reading beside a write-ahead log changes files.
  const copy = join(scratch, 'read')
  rmSync(copy, { recursive: true, force: true })
  cpSync(dataDir, copy, { recursive: true })
  const db = openPlain(join(copy, 'history.db'), 1_000)
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as string[]
    return JSON.stringify(tables.map((table) => [table, db.prepare(`SELECT * FROM "${table}"`).raw().all()]))
  } finally {
    db.close()
  }
}

/** As `exodesk verify` does, without threads of its own for each of many runs. */
async function isNoticed(dataDir: string): Promise<string | null> {
  let db: Connection | null = null
  try {
    const opened = openForReading(join(dataDir, 'history.db'))
    db = opened
    requireCurrentSchema(opened, 'test')
    const queries = createQueries(opened, dataDir)
    const reader: Reader = { ask: async (name, ...args) => queries.run(name, args) as never }
    return (await verifyFully([reader])).problem
  } catch (error) {
    return (error as Error).message
  } finally {
    db?.close()
  }
}

interface Damage {
  from: string
  file: string
  at: number
  change: { bit: number } | 'page'
}

/** A copy of `from` with the damage in it; false where nothing was changed by it. */
function damage({ from, file, at, change }: Damage, into: string): boolean {
  rmSync(into, { recursive: true, force: true })
  cpSync(from, into, { recursive: true })
  const path = join(into, file)
  const before = readFileSync(path)
  if (before.length === 0) return false
  const page = 8_192
  const offset = change === 'page' ? Math.floor((at % before.length) / page) * page : at % before.length
  const bytes = Buffer.from(before.subarray(offset, offset + (change === 'page' ? page : 1)))
  if (change === 'page') bytes.fill(0)
  else bytes[0] = (bytes[0] as number) ^ (1 << change.bit)
  const fd = openSync(path, 'r+')
  writeSync(fd, bytes, 0, bytes.length, offset)
  closeSync(fd)
  return !before.subarray(offset, offset + bytes.length).equals(bytes)
}

describe('a damaged byte or page', () => {
  it('[F8] positive control: what was left alone verifies, also after a kill', async () => {
    expect(await isNoticed(whole)).toBeNull()
    const copy = join(scratch, 'control')
    cpSync(killed, copy, { recursive: true })
    expect(existsSync(join(copy, 'history.db-wal'))).toBe(true)
    expect(await isNoticed(copy)).toBeNull()
  })

  it.each([
    ['the database', 'whole', 'history.db'],
    ['the write-ahead log', 'killed', 'history.db-wal'],
    ['a file of archives', 'whole', 'archive/blobs-000001'],
    ['the signed head', 'whole', 'head.json'],
    ['the key of the head', 'whole', 'head.key'],
    ['the note of the last commit', 'whole', 'head.last'],
  ])('[F8] [C2] in %s is noticed, or changes nothing that can be read', async (_name, kind, file) => {
    const from = kind === 'whole' ? whole : killed
    const before = contents(from)
    const change = fc.oneof(
      { weight: 3, arbitrary: fc.record({ bit: fc.integer({ min: 0, max: 7 }) }) },
      { weight: 1, arbitrary: fc.constant('page' as const) },
    )
    let noticed = 0
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), change, async (at, how) => {
        const into = join(scratch, 'damaged')
        if (!damage({ from, file, at, change: how }, into)) return
        const problem = await isNoticed(into)
        if (problem !== null) {
          noticed += 1
          expect(problem.length).toBeGreaterThan(10)
          return
        }
        // The archive holds blobs of its own: unnoticed there would be a change for certain.
        expect(file).not.toMatch(/archive/)
        expect(contents(into)).toBe(before)
      }),
      { numRuns: file.startsWith('history') ? runs : 15 },
    )
    console.info(`${file}: ${noticed} noticed, the others changed nothing`)
  })

  it('[A6] in one blob is an error for that version only, and the event is named', async () => {
    const into = join(scratch, 'blob')
    cpSync(whole, into, { recursive: true })
    const db = openPlain(join(into, 'history.db'), 1_000)
    const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'blobs_no_update'").pluck().get() as string
    db.exec('DROP TRIGGER blobs_no_update')
    db.exec(`UPDATE blobs SET bytes = x'00' WHERE hash = (SELECT hash FROM artifacts WHERE name = 'n1-0')`)
    db.exec(trigger)
    db.close()
    const report = await verifyDataDir({ dataDir: into, version: 'test' })
    expect(report).toMatchObject({
      ok: false,
      of: 'blob',
      problem: expect.stringMatching(/event \d+ \(.*bytes of blob/),
    })
    const test = await openTestHistory({ dataDir: into })
    // The log is whole: work goes on.
    expect(test.history.problem).toBeNull()
    const [bad] = await test.history.artifactVersions('a', 'n1-0')
    const [good] = await test.history.artifactVersions('a', 'n1-1')
    await expect(test.history.getBlob(bad?.hash ?? '')).rejects.toMatchObject({ code: 'internal' })
    expect((await test.history.getBlob(good?.hash ?? '')).length).toBeGreaterThan(0)
    await test.close()
  })
})
