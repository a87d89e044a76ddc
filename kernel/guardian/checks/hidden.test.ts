import { describe, expect, it } from 'vitest'
import { candidateOf } from './candidate.fixture.ts'
import { read, seed, withFiles } from './facts/tree.fixture.ts'
import { corpus, type HiddenCase } from './fixtures/hidden/corpus.fixture.ts'
import { scope } from './scope.ts'
import { judge } from './static.ts'

const base = withFiles(seed, { 'tools/case.ts': '', 'tools/index.ts': "export * from './case.ts'\n" })

/** The first check that does not pass, as a profile has them. */
async function decided(path: string, text: string) {
  const files = withFiles(base, { [path]: text })
  const looks = await scope.run(candidateOf({ base, files }), {} as never, new AbortController().signal)
  if (looks.verdict !== 'pass') return { check: 'scope', verdict: looks.verdict, summary: looks.summary }
  const { verdict, summary } = judge(read(base), read(files))
  return { check: verdict === 'pass' ? null : 'static', verdict, summary }
}

describe('a text that hides something', () => {
  it('is one of many kinds', () => {
    expect(corpus.length).toBeGreaterThanOrEqual(25)
  })

  it.each(corpus.map((one): [string, HiddenCase] => [one.name, one]))(
    '[C24] [G6] [G8] fails the check that sees it, and its twin passes: %s',
    async (_name, { path, hostile, twin, check, problem }) => {
      const found = await decided(path, hostile)
      expect(found).toMatchObject({ check, verdict: 'fail', summary: expect.stringContaining(problem) })
      expect(found.summary).toContain(path)
      // What it says of it can be shown anywhere.
      expect(found.summary).toMatch(/^[\P{C}]*$/u)
      expect(await decided(path, twin)).toMatchObject({ check: null, verdict: 'pass' })
    },
  )
})
