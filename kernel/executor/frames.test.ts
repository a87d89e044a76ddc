import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Frame, FrameReader } from './frames.ts'

const limits = { frameBytes: 1024 * 1024, depth: 64 }

function read(chunks: readonly (Buffer | string)[], options = limits): Frame[] {
  const reader = new FrameReader(options)
  return chunks.flatMap((chunk) => [...reader.push(Buffer.from(chunk))])
}

describe('the frame reader', () => {
  it('reads one JSON value a line, however the bytes arrive', () => {
    const line = Buffer.from('{"text":"å\\n😀"}\n')
    const bytes = [...line].map((byte) => Buffer.of(byte))
    expect(read(bytes)).toEqual([{ ok: true, value: { text: 'å\n😀' } }])
    expect(read([Buffer.concat([line, line, line.subarray(0, 5)])])).toHaveLength(2)
  })

  it.each([
    ['hello', 'not JSON'],
    ['{"a":1', 'not JSON'],
    ['', 'empty'],
    ['{"a":1}\r', 'CR LF'],
    [Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'UTF-8'],
    ['{"a":"\0"}', 'NUL'],
    ['{"__proto__":{"x":1}}', '__proto__'],
    ['{"a":[{"__proto__":1}]}', '__proto__'],
  ])('[R1] [R5] finds %j bad and reads on', (line, problem) => {
    const frames = read([Buffer.concat([Buffer.from(line), Buffer.from('\n{"ok":1}\n')])])
    expect(frames[0]).toMatchObject({ ok: false, problem: expect.stringContaining(problem) })
    expect(frames[1]).toEqual({ ok: true, value: { ok: 1 } })
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('[R2] drops a line of 8 MB as it comes and reads the next', () => {
    const piece = Buffer.alloc(64 * 1024, 'a')
    const frames = read([...Array.from({ length: 128 }, () => piece), '\n', '{"ok":1}\n'])
    expect(frames.filter(({ ok }) => !ok).length).toBeGreaterThanOrEqual(1)
    expect(frames.at(-1)).toEqual({ ok: true, value: { ok: 1 } })
  })

  it('[R2] counts a line without end again and again', () => {
    const piece = Buffer.alloc(64 * 1024, 'a')
    expect(read(Array.from({ length: 160 }, () => piece)).length).toBe(10)
  })

  it('[R3] refuses 100,000 levels before anything recursive can meet them', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}\n`
    const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}\n`
    for (const text of [deep, objects]) {
      expect(read([text])).toMatchObject([{ ok: false, problem: 'nesting deeper than 64' }])
    }
    expect(read([`${'['.repeat(64)}${']'.repeat(64)}\n`])).toMatchObject([{ ok: true }])
  })

  it('[C19] finds the same frames in any bytes, however they are cut', () => {
    const line = fc.oneof(
      fc.json().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
    )
    const small = { frameBytes: 64, depth: 4 }
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(200), { maxLength: 12 }), (lines, cuts) => {
        const bytes = Buffer.concat(lines.flatMap((text) => [text, Buffer.from('\n')]))
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index] ?? 0, end))
        const good = (frames: Frame[]): unknown[] => frames.filter(({ ok }) => ok)
        expect(good(read(pieces, small))).toEqual(good(read([bytes], small)))
      }),
      { numRuns: 2000 },
    )
  })
})
