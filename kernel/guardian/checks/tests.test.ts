import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TreeFile } from '../../sandbox/sandbox.ts'
import { openTestGuardian, type TestGuardian } from '../../testing/guardian.ts'
import { testsSchema } from '../../wire/operator-replay.ts'
import type { GuardianParts } from '../core.ts'
import { candidateOf } from './candidate.fixture.ts'
import { tests } from './tests.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian({ createAgent: false })
})
afterEach(() => test.close())

const main = { path: 'main.ts', text: 'export const answer = (): number => 42\n' }
const testOf = (body: string, path = 'main.test.ts'): TreeFile => ({
  path,
  text: `import assert from 'node:assert'\nimport { test } from 'node:test'\nimport { answer } from './main.ts'\n${body}\n`,
})
const good = testOf("test('it knows', () => assert.equal(answer(), 42))")

async function run(files: TreeFile[], { base = [main], seconds = 20 }: { base?: TreeFile[]; seconds?: number } = {}) {
  const revision = await test.revisions.put(files)
  const { provider, revisions } = test
  const candidate = candidateOf({ revision, files, base, thresholds: { seconds } })
  const outcome = await tests.run(candidate, { provider, revisions } as GuardianParts, new AbortController().signal)
  return { ...outcome, report: testsSchema.parse(JSON.parse(JSON.stringify(outcome.details))) }
}

describe('the tests that a candidate brings', () => {
  it('pass where they pass, and where there are none it says so', async () => {
    expect(await run([main])).toMatchObject({ verdict: 'pass', summary: 'it brings no tests' })
    const { verdict, summary, report } = await run([main, good])
    expect({ verdict, summary }).toEqual({ verdict: 'pass', summary: 'its 1 test passes' })
    expect(report).toMatchObject({ files: ['main.test.ts'], own: { passed: 1, failed: 0 }, base: null })
  })

  it('fail with the first that fails, and what it says', async () => {
    const two = testOf(
      "test('it knows', () => assert.equal(answer(), 42))\ntest('it is odd', () => assert.equal(answer(), 7, 'not seven'))",
    )
    const { verdict, summary } = await run([main, two])
    expect(verdict).toBe('fail')
    expect(summary).toMatch(/^1 of its 2 tests fail, first: it is odd: .*not seven/)
  })

  it('fail where they hang, throw where they start, or end the process', async () => {
    const hanging = await run([main, testOf('for (;;);')], { seconds: 3 })
    expect(hanging).toMatchObject({ verdict: 'fail', summary: 'its tests were not done within 3 s' })
    expect(await run([main, testOf("throw new Error('at once')")])).toMatchObject({ verdict: 'fail' })
    expect(await run([main, testOf('process.exit(3)')])).toMatchObject({ verdict: 'fail' })
  }, 60_000)

  it('have no network and no writable source', async () => {
    const reaching = testOf(`
import { connect } from 'node:net'
import { writeFileSync } from 'node:fs'
test('no network', (_t, done) => {
  connect(9, '192.0.2.1').on('error', (error) => done(assert.match(String(error), /ENETUNREACH|EACCES|EPERM/)))
})
test('no writing', () => assert.throws(() => writeFileSync('/revision/main.ts', '')))`)
    expect(await run([main, reaching])).toMatchObject({ verdict: 'pass' })
  })

  it('do not hide those of the base that are removed or changed: these run on it as they were', async () => {
    const worse = { path: 'main.ts', text: 'export const answer = (): number => 41\n' }
    const bent = testOf("test('it knows', () => assert.equal(answer(), 41))")
    const changed = await run([worse, bent], { base: [main, good] })
    expect(changed.report).toMatchObject({
      ...{ changed: ['main.test.ts'], removed: [] },
      ...{ own: { passed: 1, failed: 0 }, base: { passed: 0, failed: 1 } },
    })
    expect(changed.summary).toContain('of which 1 tests fail on it as they were')
    const removed = await run([worse], { base: [main, good] })
    expect(removed).toMatchObject({ verdict: 'unresolved', report: { removed: ['main.test.ts'] } })
  })
})
