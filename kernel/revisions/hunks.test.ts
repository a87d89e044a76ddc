import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { cutHunks, keepHunks } from './hunks.ts'

const line = fc.constantFrom('a', 'b', 'c', 'd', '', '  a', 'a\r', 'ü', '-a', '\\ No newline at end of file')
const text = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded ? '\n' : ''))
const tree = fc.dictionary(fc.constantFrom('main.ts', 'a.md', 'b.ts', 'tools/c.ts'), text, { minKeys: 1 })

const filesOf = (texts: Record<string, string>): TreeFile[] =>
  Object.entries(texts).map(([path, text]) => ({ path, text }))
const textsOf = (files: readonly TreeFile[]) => Object.fromEntries(files.map(({ path, text }) => [path, text]))

describe('hunks', () => {
  it('all kept give the candidate, none kept the base, byte for byte', () => {
    fc.assert(
      fc.property(tree, tree, (before, after) => {
        const [from, to] = [filesOf(before), filesOf(after)]
        const files = cutHunks(from, to)
        const all = files.map(({ path, hunks }) => ({ path, hunks: hunks.map(({ id }) => id) }))
        expect(textsOf(keepHunks(from, to, all))).toEqual(textsOf(to))
        expect(textsOf(keepHunks(from, to, []))).toEqual(textsOf(from))
      }),
      { numRuns: 300 },
    )
  })

  it('kept in part leave exactly the others: what is left over has their ids’ lines and no more', () => {
    fc.assert(
      fc.property(tree, tree, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (before, after, picks) => {
        const [from, to] = [filesOf(before), filesOf(after)]
        const files = cutHunks(from, to)
        let at = 0
        const keep = files.map(({ path, hunks }) => ({
          path,
          hunks: hunks.filter(() => picks[at++ % picks.length]).map(({ id }) => id),
        }))
        const part = keepHunks(from, to, keep)
        const changed = (of: readonly { hunks: readonly { beforeLines: number; afterLines: number }[] }[]) =>
          of.flatMap(({ hunks }) => hunks).reduce((sum, one) => sum + one.beforeLines + one.afterLines, 0)
        // Rewriting the rest as well comes to the candidate again, in at most the lines that fell.
        const rest = cutHunks(part, to)
        const fell = files.map(({ path, hunks }, index) => ({
          hunks: hunks.filter(({ id }) => !keep[index]?.hunks.includes(id) && path !== ''),
        }))
        expect(changed(rest)).toBeLessThanOrEqual(changed(fell))
        const all = rest.map(({ path, hunks }) => ({ path, hunks: hunks.map(({ id }) => id) }))
        expect(textsOf(keepHunks(part, to, all))).toEqual(textsOf(to))
      }),
      { numRuns: 300 },
    )
  })

  it('are the runs of changed lines, with ids that stay for the same bytes', () => {
    const from = filesOf({ 'main.ts': 'one\ntwo\nthree\nfour\nfive\n', 'old.md': 'x\n' })
    const to = filesOf({ 'main.ts': 'one\n2\nthree\nfour\n4.5\nfive', 'new.md': '' })
    const files = cutHunks(from, to)
    expect(files.map(({ path, change, hunks }) => [path, change, hunks.length])).toEqual([
      ['main.ts', 'changed', 2],
      ['new.md', 'added', 1],
      ['old.md', 'removed', 1],
    ])
    expect(files[0]?.hunks[0]).toMatchObject({ beforeStart: 1, beforeLines: 1, afterStart: 1, afterLines: 1 })
    expect(cutHunks(from, to)).toEqual(files)
    const [first] = files[0]?.hunks ?? []
    const kept = textsOf(keepHunks(from, to, [{ path: 'main.ts', hunks: [first?.id ?? ''] }]))
    expect(kept).toEqual({ 'main.ts': 'one\n2\nthree\nfour\nfive\n', 'old.md': 'x\n' })
  })

  it('that there are not are refused by name', () => {
    const [from, to] = [filesOf({ 'main.ts': 'a\n' }), filesOf({ 'main.ts': 'b\n' })]
    expect(() => keepHunks(from, to, [{ path: 'main.ts', hunks: ['0'] }])).toThrow(/main\.ts has no change 0/)
    expect(() => keepHunks(from, to, [{ path: 'other.ts', hunks: [] }])).toThrow(/other\.ts has no change/)
  })

  it('of files too different to compare in time are one for each file', () => {
    const numbers = (from: number) =>
      Array.from({ length: 30_000 }, (_, index) => `${(index * 7919 + from) % 99_991}\n`)
    const [from, to] = [
      filesOf({ 'main.ts': numbers(0).join('') }),
      filesOf({ 'main.ts': numbers(13).reverse().join('') }),
    ]
    const [file] = cutHunks(from, to)
    expect([file?.isCompared, file?.hunks.length]).toEqual([false, 1])
    const keep = [{ path: 'main.ts', hunks: [file?.hunks[0]?.id ?? ''] }]
    expect(textsOf(keepHunks(from, to, keep))).toEqual(textsOf(to))
  })
})
