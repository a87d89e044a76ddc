import { describe, expect, it } from 'vitest'
import type { TreeFile } from '../../sandbox/sandbox.ts'
import { claimDetailsSchema } from '../../wire/operator-checks.ts'
import { candidateOf } from './candidate.fixture.ts'
import type { Candidate } from './check.ts'
import { claim } from './claim.ts'
import { edited, read, seed, withFiles } from './facts/tree.fixture.ts'
import { statementsIn } from './statements.ts'
import { judge } from './static.ts'

const old = edited('budget.ts', '[0.2, 0.05]', '[0.5]')
const trees: Record<string, readonly TreeFile[]> = { old, base: seed }
const revisions = { read: async (hash: string) => trees[hash] }

async function judged(files: readonly TreeFile[], given: Partial<Candidate>) {
  const { verdict, summary, details } = judge(read(seed), read(files))
  const checks = [{ seq: 1, hash: '', check: 'static', verdict, summary, details, durationMs: 1, gates: true }]
  const candidate = candidateOf({ base: seed, files, checks, authorised: ['old', 'base'], why: '', ...given })
  const outcome = await claim.run(candidate, { revisions } as never, new AbortController().signal)
  return { ...outcome, ...claimDetailsSchema.parse(outcome.details) }
}

const commented = edited('loop.ts', '/** A model that answers', '/** As often as a model answers')
const code = edited('loop.ts', 'let steps = 0', 'let steps = 0\n  const began = steps')
const tested = withFiles(code, { 'tests/loop.test.ts': 'export {}\n' })
const told = edited('instructions.ts', 'You work alone', 'You work by yourself')
const tool = withFiles(seed, {
  'tools/a.ts': 'export const a = 1\n',
  'tools/index.ts': `${seed.find(({ path }) => path === 'tools/index.ts')?.text}// a\n`,
})

describe('a claim', () => {
  it.each<[claim: string, tree: readonly TreeFile[], twin: readonly TreeFile[]]>([
    ['Changes only comments', code, commented],
    ['Documentation only.', code, commented],
    ['Just a few comments', told, withFiles(seed, { 'SELF.md': '# Map' })],
    ['No code is changed.', told, commented],
    ['Shorter waits, no behaviour change', edited('loop.ts', '[500, 5_000]', '[500, 50_000]'), commented],
    ['Reverts my last change to budget.ts', edited('budget.ts', '[0.2, 0.05]', '[0.9]'), old],
    ['Restores the earlier version of the notices', edited('budget.ts', '[0.2, 0.05]', '[0.9]'), old],
    ['Rolls back to r1', code, old],
    ['Undoes P-3', code, old],
    ['Adds a tool and two tests', code, tested],
    ['A calmer loop, covered by tests', code, tested],
    ['All tests pass', code, tested],
    ['Only changes loop.ts', tested, code],
    ['This changes nothing but loop.ts', tool, code],
    ['Does not touch loop.ts', code, told],
    ['loop.ts stays as it was', code, told],
    ['Does not change the prompt', told, code],
  ])(
    '[G6] fails where the change plainly contradicts it, and passes where it does not: %s',
    async (words, tree, twin) => {
      const wrong = await judged(tree, { claim: words })
      expect([wrong.verdict, wrong.statements.map(({ verdict }) => verdict)]).toEqual([
        'fail',
        expect.arrayContaining(['false']),
      ])
      expect(wrong.summary).toContain('is not so')
      const right = await judged(twin, { claim: words })
      expect([right.verdict, right.summary]).toEqual(['pass', expect.not.stringContaining('not so')])
      // What is said as the reason counts as much.
      expect((await judged(tree, { why: words })).verdict).toBe('fail')
    },
  )

  it.each<[claim: string, tree: readonly TreeFile[]]>([
    ['Same behaviour, clearer code: behaviour stays the same', code],
    ['Changes loop.ts and toolbox.ts', code],
    ['All tests pass', tested],
    ['Does not change the context', edited('compaction.ts', 'KEPT_STEPS = 4', 'KEPT_STEPS = 3')],
  ])('is shown as not decided where it may be so: %s', async (words, tree) => {
    const { verdict, statements } = await judged(tree, { claim: words })
    expect([verdict, statements.map((one) => one.verdict)]).toEqual(['pass', expect.arrayContaining(['not-decided'])])
  })

  it.each([
    'One call of round_play_101 plays a whole round that takes about ten calls now',
    'Rest restores stamina before each round',
    'It does not revert anything',
    'Adds a tool that tests whether a file is there',
    'Could be reverted later if loop.ts should not change',
    'Puts the bag back at camp and comes with fewer steps',
  ])('says nothing to hold against it: %s', (words) => {
    expect(statementsIn(words)).toEqual([])
  })

  it.each([
    ['Steps are a third cheaper', 'fail'],
    ['Faster turns.', 'fail'],
    ['A clearer docstring', 'pass'],
  ])('[G6] of an effect fails where nothing that runs differs: %s', async (words, verdict) => {
    expect((await judged(commented, { claim: words })).verdict).toBe(verdict)
    expect((await judged(told, { claim: words })).verdict).toBe('pass')
  })

  it('is an agent’s: a person who takes a part of it is not held to its words', async () => {
    expect(await judged(code, { claim: 'Adds two tests', by: 'operator' })).toMatchObject({
      verdict: 'pass',
      statements: [{ kind: 'tests-added', verdict: 'false' }, { kind: 'effect' }],
    })
  })
})
