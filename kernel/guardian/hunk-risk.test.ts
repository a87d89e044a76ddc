import { describe, expect, it } from 'vitest'
import { staticDetailsSchema } from '../wire/operator-checks.ts'
import { read, withFiles } from './checks/facts/tree.fixture.ts'
import { judge } from './checks/static.ts'
import { type HunkLines, hunkRisks } from './hunk-risk.ts'

const lines = Array.from({ length: 9 }, (_, n) => `export const a${n} = ${n}`)
const before = ["import { spawn } from 'node:child_process'", ...lines, 'export const max = 5']
const tree = (text: string[], path = 'loop.ts') =>
  withFiles([{ path: 'main.ts', text: "import './loop.ts'\n" }], { 'loop.ts': '', [path]: text.join('\n') })
const hunk = (beforeLine: number, beforeLines: number, afterLine: number, afterLines: number): HunkLines => ({
  ...{ beforeLine, beforeLines, afterLine, afterLines },
})
const all = [hunk(1, 1, 1, 0), hunk(5, 1, 4, 2), hunk(11, 1, 11, 1)]
const after = [
  ...lines.slice(0, 3),
  "await fetch('x')",
  'export const b = 1',
  ...lines.slice(4),
  'export const max = 50',
]

function risks(path = 'loop.ts', hunks = all) {
  const { details } = judge(read(tree(before, path)), read(tree(after, path)))
  const found = staticDetailsSchema.parse(details)
  const file = found.files.find((one) => one.path === path)
  if (file === undefined) throw new Error('nothing changed')
  return { file, found, hunks: hunkRisks(file, hunks, found) }
}

describe('the risk of one change of a file', () => {
  it('is that of what was found on its own lines', () => {
    const { file, hunks } = risks()
    expect(file.risk).toBe('HIGH')
    expect(hunks.map(({ risk }) => risk)).toEqual(['MED', 'HIGH', 'HIGH'])
    expect(hunks[0]?.reasons).toEqual(['no longer has node:child_process', 'changes code'])
    expect(hunks[1]?.reasons).toEqual(['reaches for the network: fetch, line 4', 'changes code'])
    expect(hunks[2]?.reasons).toEqual(['may use more: max (limit) goes from 5 to 50, line 11', 'changes code'])
  })

  it('is that of the file where what was found is on no line of a change, or holds for all of it', () => {
    const elsewhere = risks('loop.ts', [hunk(1, 1, 1, 0), hunk(11, 1, 11, 1)])
    expect(elsewhere.hunks.map(({ risk }) => risk)).toEqual(['HIGH', 'HIGH'])
    expect(elsewhere.hunks[0]?.reasons).toContain('reaches for the network: fetch, line 4')
    expect(risks('tests/loop.test.ts').hunks.map(({ risk }) => risk)).toEqual(['HIGH', 'HIGH', 'HIGH'])
  })

  it('is that of the file where nothing was read, or not all is listed', () => {
    const { file, found } = risks()
    for (const known of [null, { ...found, isCut: true }])
      expect(hunkRisks(file, all, known)).toEqual(all.map(() => ({ risk: 'HIGH', reasons: file.reasons })))
  })
})
