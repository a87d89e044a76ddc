import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { leakageDetailsSchema } from '../../wire/operator-checks.ts'
import { candidateOf } from './candidate.fixture.ts'
import { apprenticeTool, edited, read, seed, withFiles } from './facts/tree.fixture.ts'
import { leakage, type ProtectedText } from './leakage.ts'
import { judge } from './static.ts'

const pack = join(import.meta.dirname, '../../../tasks/hollowmere/skills')
const text = (path: string) => readFileSync(join(pack, path), 'utf8')
const texts: ProtectedText[] = [
  { label: 'instruction of T-1', text: text('instruction.md') },
  {
    label: 'instruction of T-2',
    text: 'Write the sum of all invoices of March 2031 to /task/total.txt as EUR 12,345.67 and nothing else.',
  },
  {
    label: 'tests',
    text: 'assert output == \'The grand total of the quarter is 48213 florins\'\necho "PASS: ledger reconciles exactly"\n',
  },
  { label: 'solution', text: text('solution/solve.sh') },
  { label: 'tests', text: text('tests/test.sh') },
  { label: 'name of the pack', text: 'tasks/hollowmere/skills', isId: true },
]

async function outcome(files: typeof seed, protectedTexts: ProtectedText[] | null = texts) {
  const { verdict, summary, details } = judge(read(seed), read(files))
  const checks = [{ seq: 1, hash: '', check: 'static', verdict, summary, details, durationMs: 1, gates: true }]
  const parts = protectedTexts === null ? {} : { protectedTexts: async () => protectedTexts }
  return leakage.run(candidateOf({ base: seed, files, checks }), parts as never, new AbortController().signal)
}
const withLine = (line: string) => withFiles(seed, { 'tools/extra.ts': `export const a = 1\n${line}\n` })

describe('words of a task in a policy', () => {
  it.each<[name: string, line: string, kind: string]>([
    [
      'the string that the grader looks for',
      "console.log('The grand total of the quarter is 48213 florins')",
      'copied',
    ],
    [
      'the same in other case and spacing',
      "console.log('the GRAND  total of\\tthe quarter is 48213 Florins.')",
      'copied',
    ],
    ['the same in pieces', "const t = 'The grand to' + 'tal of the quar' + 'ter is 48213 flo' + 'rins'", 'copied'],
    ['the same in a list', "const t = ['The grand total', 'of the quarter', 'is 48213 florins'].join(' ')", 'copied'],
    [
      'the same by escapes',
      `const t = '${[...'The grand total of the quarter is 48213 florins'].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}'`,
      'copied',
    ],
    ['the same with other small words', "const t = 'grand totals for each quarter: 48213 florin'", 'reworded'],
    ['the instruction', "if (x.startsWith('Write the sum of all invoices of March 2031')) go()", 'copied'],
    ['the instruction in a comment', '// bring mining, woodcutting and fishing to 200 xp each', 'copied'],
    ['the name of a pack', "if (name === 'tasks/hollowmere/skills') go()", 'id'],
    ['a task’s id', "if (kernel.task.task === 'T-12') go()", 'identity'],
    ['a word of the instruction that decides', "if (kernel.task.instruction.includes('invoices')) go()", 'identity'],
    ['a pattern of the instruction that decides', 'if (/march 2031/i.test(kernel.task.instruction)) go()', 'identity'],
  ])('[G6] are found: %s', async (_name, line, kind) => {
    const { verdict, summary, details } = await outcome(withLine(line))
    expect(verdict).toBe('fail')
    expect(summary).toMatch(/^tools\/extra\.ts:2 /)
    expect(leakageDetailsSchema.parse(details).leaks).toContainEqual(expect.objectContaining({ kind, line: 2 }))
  })

  it.each<[name: string, files: typeof seed]>([
    ['the starting policy itself', withFiles(seed, { 'notes.md': 'x' })],
    ['the apprentice’s tool', withFiles(seed, { 'tools/round_play_101.ts': apprenticeTool('round_play_101') })],
    ['a common phrase', withLine("const t = 'When something fails, read the result and try another way.'")],
    ['a few words of the world', withLine("const t = ['world map', 'world skills', 'gather']")],
    ['a path and a command', withLine("const t = 'cd /task && ls -la | head -n 20'")],
    [
      'a move of what the policy says already',
      withFiles(edited('instructions.ts', 'x', 'x'), {
        'words.ts': seed.find(({ path }) => path === 'instructions.ts')?.text ?? '',
      }),
    ],
    ['a decision by what its instruction asks in general', withLine("if (kernel.task.instruction === '') go()")],
  ])('are not found in %s', async (_name, files) => {
    expect(await outcome(files)).toMatchObject({ verdict: 'pass' })
  })

  it('cannot be looked for where no texts can be had, and those that are gone are named', async () => {
    expect((await outcome(withLine(''), null)).verdict).toBe('unresolved')
    const gone = await outcome(withLine(''), [{ label: 'tests of the pack x', text: null }])
    expect(gone).toMatchObject({
      verdict: 'pass',
      summary: expect.stringContaining('not compared with tests of the pack x'),
    })
  })
})
