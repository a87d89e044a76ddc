import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { redactLookalikes } from '../credentials/lookalikes.ts'
import { createMasks } from '../credentials/masks.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { verifyDataDir } from '../history/verify-only.ts'
import { draft } from '../wire/events.ts'
import { exportFormats } from '../wire/operator-exports.ts'
import { createExports } from './desk.ts'
import type { Exports } from './exports.ts'
import { recordRun } from './fixture.ts'

let test: TestHistory
let folder: string
let exports: Exports
let masks: ReturnType<typeof createMasks>
beforeEach(async () => {
  test = await openTestHistory()
  folder = mkdtempSync(join(tmpdir(), 'exodesk-exports-'))
  masks = createMasks()
  exports = createExports({
    history: test.history,
    dataDir: test.dataDir,
    clock: systemClock,
    version: 'test',
    keys: masks.redact,
    lookalikes: redactLookalikes,
    home: '/srv/people/ada',
  })
})
afterEach(async () => {
  await test.close()
  rmSync(folder, { recursive: true, force: true })
})

const to = (name: string) => join(folder, name)
const textOf = (name: string) => readFileSync(to(name), 'utf8')
const canary = 'canary-4f9c1d7ab2e84c55'

describe('a readable export', () => {
  it('[C29] [U2] is Markdown and HTML in which nothing that an agent wrote is markup, and nothing is fetched', async () => {
    const hostile =
      '```\n</pre><script>alert(1)</script><img src=http://127.0.0.1/x>\n![x](http://127.0.0.1/y)\u202etxt'
    await recordRun(test.history, { answer: hostile, output: hostile, title: '<b>title</b> [x](javascript:1)' })
    await exports.write({ format: 'html', file: to('run.html') })
    await exports.write({ format: 'markdown', file: to('run.md') })
    const html = textOf('run.html')
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).toContain('\\u{202e}')
    expect(html).toContain("default-src 'none'")
    expect(html).not.toMatch(/<script|<img|<b>|\u202e|javascript:1"/)
    const md = textOf('run.md')
    // The fence is longer than any in the text, so the text cannot end it.
    expect(md).toContain('````text\n```\n</pre>')
    expect(md).not.toContain('\u202e')
    expect(md).toContain('&lt;b\\>title&lt;/b\\> \\[x\\](javascript:1)')
    expect(md.split('\n').filter((line) => line === '```text')).not.toContain('</pre>')
  })

  it('tells the run in order: instruction, each step with its figures, calls with their results, and the end', async () => {
    await recordRun(test.history)
    const done = await exports.write({ format: 'markdown', task: 'T-1', file: to('run.md') })
    const md = textOf('run.md')
    const order = [
      'T-1: count beans',
      'simulated: its figures are no bill',
      'Count the beans.',
      'Step 1',
      '1200 tokens in (1000 from the cache), 40 out · $0.0006 simulated',
      'I look first.',
      'model calls shell',
      '{"command":"ls"}',
      'operator (#',
      'Be quick.',
      'shell: ok, 0.1 s',
      'beans.txt',
      'Step 2',
      'There are 15.',
      'task.finished',
    ]
    const places = order.map((text) => md.indexOf(text))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(md).not.toContain('of another task')
    expect(statSync(to('run.md')).size).toBe(done.sizeBytes)
    expect((await test.history.latest({ agent: null }, 'export.written'))?.data).toMatchObject({
      format: 'markdown',
      task: 'T-1',
      hash: done.hash,
      events: done.events,
    })
  })

  it('refuses what it cannot do with what to do instead, and writes nothing', async () => {
    await recordRun(test.history)
    const refused: [Parameters<Exports['write']>[0], string, RegExp][] = [
      [{ format: 'html', task: 'T-9' }, 'not-found', /no task T-9/],
      [{ format: 'html', agent: 'nobody' }, 'not-found', /no agent nobody/],
      [{ format: 'html', task: 'T-1', agent: 'a' }, 'invalid', /not both/],
      [{ format: 'atif' }, 'invalid', /of one task/],
      [{ format: 'bundle', task: 'T-1' }, 'invalid', /whole history/],
      [{ format: 'html', file: 'here.html' }, 'invalid', /absolute/],
      [{ format: 'html', file: folder }, 'conflict', /exists already/],
      [{ format: 'fine-tuning' }, 'forbidden', /consent/],
    ]
    for (const [request, code, message] of refused)
      await expect(exports.write(request)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(readdirSync(folder)).toEqual([])
    expect((await test.history.read({ agent: null }, { kinds: ['export.written'] })).events).toEqual([])
  })
})

describe('redaction', () => {
  it('[C6] [S1] keeps a key out of every format, wherever it was planted before it was known', async () => {
    await recordRun(test.history, {
      answer: `use ${canary}`,
      output: `key=${canary}`,
      steer: Buffer.from(canary).toString('base64'),
    })
    // Control: without the key known, it is there.
    await exports.write({ format: 'html', file: to('before.html') })
    expect(textOf('before.html')).toContain(canary)
    masks.add(canary)
    for (const format of exportFormats.filter((each) => each !== 'bundle')) {
      await exports.write({ format, task: 'T-1', file: to(`${format}.out`), consent: true })
      const text = textOf(`${format}.out`)
      expect(text, format).not.toContain(canary)
      expect(text, format).not.toContain(Buffer.from(canary).toString('base64').slice(1, -4))
      expect(text, format).toContain('[redacted key]')
    }
    await expect(exports.write({ format: 'bundle', file: to('all.exodesk') })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/a key that Exodesk knows lies in event \d+.*provider replace it/),
    })
    expect((await exports.preview({ format: 'bundle' })).blocked).toMatch(/a key that Exodesk knows/)
    expect(readdirSync(folder).some((name) => /all|part|copy/.test(name))).toBe(false)
  })

  it('is seen before: what each rule finds, how often and where; keys are never shown', async () => {
    const answer =
      'mail ada@example.org and bob@example.org, see /home/ada/notes and /srv/people/ada/x; ada@example.org'
    await recordRun(test.history, { answer, output: `sk-abcdefghij0123456789abcdefghij ${canary} C:\\Users\\Ada\\x` })
    masks.add(canary)
    const before = test.history.head()
    const { findings, events } = await exports.preview({ format: 'markdown', task: 'T-1' })
    const of = (rule: string) => findings.find((each) => each.rule === rule)
    expect(of('email')).toMatchObject({
      count: 3,
      examples: [{ text: 'ada@example.org', count: 2 }, { text: 'bob@example.org' }],
    })
    expect(
      of('home')
        ?.examples.map(({ text }) => text)
        .toSorted(),
    ).toEqual(['/home/ada', '/srv/people/ada', 'C:\\Users\\Ada'])
    expect(of('keys')).toMatchObject({ examples: [{ text: null }] })
    expect(of('lookalikes')).toMatchObject({ examples: [{ text: null }] })
    expect(JSON.stringify(findings)).not.toContain(canary)
    expect(events).toBeGreaterThan(8)
    expect(test.history.head()).toEqual(before)

    await exports.write({ format: 'markdown', task: 'T-1', file: to('out.md') })
    expect(textOf('out.md')).not.toMatch(/ada@|bob@|\/home\/ada|people\/ada|Users|sk-abc/)
    expect(textOf('out.md')).toContain('see ~/notes and ~/x')
    const kept = await exports.write({ format: 'markdown', task: 'T-1', keep: ['email', 'home'], file: to('kept.md') })
    expect(textOf('kept.md')).toContain('ada@example.org')
    expect(textOf('kept.md')).toContain('/home/ada/notes')
    expect(textOf('kept.md')).not.toContain('sk-abc')
    expect(kept.redacted.map(({ rule }) => rule)).toEqual(['keys', 'lookalikes'])
  })
})

describe('a bundle', () => {
  const whole = async (t: TestHistory) => (await t.history.read({ agent: null }, { limit: 1000 })).events

  it('is the whole history: imported elsewhere, each event, link and content is the same, and nothing can be added', async () => {
    await recordRun(test.history)
    const large = await test.history.putBlob('large '.repeat(20_000))
    await test.history.grantBlob('a', large)
    await test.history.append([draft('note.added', { text: 'late' }, { actor: 'executor', agent: 'a' })])
    await test.history.archive({ before: Date.now() + 1_000, minBytes: 50_000 })
    const events = await whole(test)
    const done = await exports.write({ format: 'bundle', file: to('all.exodesk') })
    const imported = await exports.import(to('all.exodesk'), to('there'))
    expect(imported).toMatchObject({ events: events.length, head: events.at(-1)?.hash })
    expect(done.events).toBe(events.length)
    expect(await verifyDataDir({ dataDir: to('there'), version: 'test' })).toMatchObject({ ok: true, notes: [] })
    // The key that signs heads is not handed on.
    expect(readFileSync(join(test.dataDir, 'head.key'), 'utf8')).not.toBe(readFileSync(to('there/head.key'), 'utf8'))
    const names = gunzipSync(readFileSync(to('all.exodesk'))).toString('latin1')
    expect(names).not.toContain(readFileSync(join(test.dataDir, 'head.key'), 'utf8').trim())

    const copy = await openTestHistory({ dataDir: to('there') })
    expect(await whole(copy)).toEqual(events)
    expect(String(await copy.history.getBlob(large))).toBe('large '.repeat(20_000))
    expect(copy.history.imported).toMatchObject({ from: 'all.exodesk', head: { seq: events.length } })
    await expect(
      copy.history.append([draft('note.added', { text: 'more' }, { actor: 'executor', agent: 'a' })]),
    ).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/imported from all\.exodesk, to be read only/),
    })
    // So is a backup of it.
    await copy.history.backUp(to('again'))
    await copy.history.close()
    const again = await openTestHistory({ dataDir: to('again') })
    expect(again.history.imported).toMatchObject({ from: 'all.exodesk' })
    await again.close()
  })

  it('[H7] that was changed, cut, or made by hand is refused with what is wrong, and leaves no folder', async () => {
    await recordRun(test.history)
    await exports.write({ format: 'bundle', file: to('all.exodesk') })
    const tar = gunzipSync(readFileSync(to('all.exodesk')))
    const changed = (name: string, change: (bytes: Buffer) => Buffer) => {
      writeFileSync(to(name), gzipSync(change(Buffer.from(tar))))
      return to(name)
    }
    const written = (bytes: Buffer, text: string, at: number) => {
      bytes.write(text, at)
      return bytes
    }
    const textAt = tar.indexOf('Count the beans.')
    const cases: [string, RegExp][] = [
      [changed('flipped', (bytes) => written(bytes, 'Count the peas!!', textAt)), /history\.db was changed/],
      [changed('cut', (bytes) => bytes.subarray(0, 20_000)), /no whole bundle/],
      [changed('renamed', (bytes) => written(bytes, '../up', bytes.indexOf('history.db', 1024))), /no whole bundle/],
    ]
    const cut = to('cut.gz')
    writeFileSync(cut, readFileSync(to('all.exodesk')).subarray(0, 2_000))
    writeFileSync(to('text'), 'no bundle at all')
    cases.push([cut, /no whole bundle/], [to('text'), /no whole bundle/])
    for (const [file, why] of cases) {
      await expect(exports.import(file, to('there'))).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(why),
      })
      expect([existsSync(to('there')), existsSync(to('there.part'))]).toEqual([false, false])
    }
    await expect(exports.import(to('none'), to('there'))).rejects.toMatchObject({ code: 'not-found' })
    await expect(exports.import(to('all.exodesk'), folder)).rejects.toMatchObject({ code: 'conflict' })
    // Control.
    await exports.import(to('all.exodesk'), to('there'))
    cpSync(to('there'), to('moved'), { recursive: true })
    expect(await verifyDataDir({ dataDir: to('moved'), version: 'test' })).toMatchObject({ ok: true })
  })
})
