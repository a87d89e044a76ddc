import { mkdtempSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestGuardian, type TestGuardian } from '../../testing/guardian.ts'
import { candidateOf } from './candidate.fixture.ts'
import { read, seed, withFiles } from './facts/tree.fixture.ts'
import { readFacts } from './reading.ts'
import { staticCheck } from './static.ts'

let test: TestGuardian
beforeAll(async () => {
  test = await openTestGuardian()
})
afterAll(() => test.close())

const turn = seed.find(({ path }) => path === 'turn.ts')?.text
const signal = new AbortController().signal
async function outcome(files: typeof seed) {
  const parts = { provider: test.provider } as never
  return staticCheck.run(candidateOf({ files, base: seed }), parts, signal)
}

describe('a source read in a box', () => {
  it('gives what reading it here gives', async () => {
    const reading = await readFacts(test.provider, 'reading', seed, signal)
    expect(reading).toEqual({ ok: true, facts: read(seed).map(({ facts }) => facts) })
  })

  it('[G8] that brings the parser down fails its check with the name of the file, and nothing else falls', async () => {
    const deep = `export const a = ${'['.repeat(60_000)}${']'.repeat(60_000)}\n`
    const { verdict, summary } = await outcome(withFiles(seed, { 'a.ts': 'export {}\n', 'deep.ts': deep }))
    expect(verdict).toBe('fail')
    expect(summary).toMatch(/^deep\.ts: cannot be read/)
    // Positive control: less of the same is read.
    expect(
      (
        await outcome(
          withFiles(seed, { 'deep.ts': 'export const a = [[[[]]]]\n', 'turn.ts': `import './deep.ts'\n${turn}` }),
        )
      ).verdict,
    ).toBe('pass')
  })

  it('is unresolved where no reader is installed, and that is no pass', async () => {
    const { localProvider } = await import('../../sandbox/local.ts')
    const { systemClock } = await import('../../clock.ts')
    const boxesDir = mkdtempSync(`${test.boxesDir}/bare-`)
    const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
    const parts = { provider } as never
    const { verdict, summary } = await staticCheck.run(candidateOf({ files: seed, base: seed }), parts, signal)
    expect(verdict).toBe('unresolved')
    expect(summary).toContain('Propose again')
    await provider.close()
    rmSync(boxesDir, { recursive: true })
  })
})
