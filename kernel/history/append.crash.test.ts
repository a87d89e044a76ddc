import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { openHistory } from './open.ts'

const rounds = process.env.EXODESK_FULL === '1' ? 100 : 4

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'exodesk-crash-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

/** Appends one after the other, several at once, and says the text of each on stdout once it is acknowledged. */
const script = `
  import { openHistory } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))}
  const history = await openHistory({ dataDir: process.argv[1], clock: { now: Date.now, monotonic: () => 0 }, version: 'test' })
  process.stdout.write('ready\\n')
  async function go(worker) {
    for (let n = 0; ; n += 1) {
      const text = worker + '.' + n
      const hash = await history.putBlob(text)
      const data = { name: text, version: 1, hash, sizeBytes: text.length }
      await history.append([{ kind: 'note.added', data: { text }, actor: 'kernel' }, { kind: 'artifact.written', data, actor: 'kernel', agent: 'a' }])
      process.stdout.write(text + '\\n')
    }
  }
  await Promise.all([0, 1, 2].map((worker) => go(process.argv[2] + worker)))
`

/** Runs until it dies, by its failpoint or by ours after so many acknowledgements. */
async function runUntilKilled(
  run: number,
  options: { failpoint?: string; acknowledgements?: number },
): Promise<string[]> {
  const env = { ...process.env, ...(options.failpoint === undefined ? {} : { EXODESK_FAILPOINT: options.failpoint }) }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir, `${run}-`], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (said.split('\n').length - 2 >= (options.acknowledgements ?? Number.POSITIVE_INFINITY)) child.kill('SIGKILL')
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect([code, signal]).toEqual([null, 'SIGKILL'])
  // Whole lines only: the last may have been cut.
  return said.split('\n').slice(1, -1)
}

async function afterwards(): Promise<{ texts: string[]; artifacts: string[]; log: string[] }> {
  const history = await openHistory({ dataDir, clock: systemClock, version: 'test' })
  try {
    expect(history.problem).toBeNull()
    expect(await history.verify()).toMatchObject({ ok: true })
    const texts: string[] = []
    const log: string[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent: null }, { after, limit: 1000 })
      for (const event of page.events) {
        log.push(JSON.stringify(event))
        if (event.kind === 'note.added') texts.push(event.data.text)
      }
      after = page.next
    }
    const artifacts = (await history.artifactNames('a', '')).map(({ name }) => name)
    return { texts, artifacts, log }
  } finally {
    await history.close()
  }
}

describe('history after kill -9', () => {
  it.each([
    ['before the commit', { failpoint: 'append:before-commit:40' }],
    ['between the commit and the acknowledgement', { failpoint: 'append:after-commit:40' }],
    ['from outside, at any time', { acknowledgements: 150 }],
    ['in the very first commit', { failpoint: 'append:before-commit' }],
  ])('[F1] [C3] %s: has every acknowledged event once, nothing by halves, and verifies', async (_name, options) => {
    const acknowledged = await runUntilKilled(1, options)
    const { texts, artifacts } = await afterwards()
    expect(new Set(texts).size).toBe(texts.length)
    expect(texts).toEqual(expect.arrayContaining(acknowledged))
    // At most what was under way was committed and never acknowledged.
    expect(texts.length - acknowledged.length).toBeLessThanOrEqual(3)
    // A batch is whole: each note has its artifact, and its index row.
    expect(artifacts.sort()).toEqual([...texts].sort())
  })

  it('[F1] [C3] again and again: what was there before stays, byte for byte', async () => {
    let earlier: string[] = []
    for (const [run, options] of [
      { acknowledgements: 30 },
      { failpoint: 'append:after-commit:9' },
      { failpoint: 'append:before-commit:7' },
    ].entries()) {
      await runUntilKilled(run, options)
      const { log } = await afterwards()
      expect(log.length).toBeGreaterThan(earlier.length)
      expect(log.slice(0, earlier.length)).toEqual(earlier)
      earlier = log
    }
    expect(readFileSync(join(dataDir, 'head.json'), 'utf8')).toContain(`"seq":${earlier.length},`)
  })

  it(`[F1] [C3] ${rounds} times over, at each failpoint of an append in turn: acknowledged once, unacknowledged at most once`, async () => {
    const all: string[] = []
    for (let run = 0; run < rounds; run += 1) {
      const point = run % 2 === 0 ? 'append:before-commit' : 'append:after-commit'
      all.push(...(await runUntilKilled(run, { failpoint: `${point}:${1 + (run % 7)}` })))
    }
    const { texts, artifacts } = await afterwards()
    expect(new Set(texts).size).toBe(texts.length)
    expect(texts).toEqual(expect.arrayContaining(all))
    expect(texts.length - all.length).toBeLessThanOrEqual(3 * rounds)
    expect(artifacts.sort()).toEqual([...texts].sort())
  }, 600_000)
})
