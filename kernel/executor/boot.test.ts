import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readSeed } from '../resources.ts'
import { profiles } from '../sandbox/profiles.ts'
import type { BoxSpec, TreeFile } from '../sandbox/sandbox.ts'
import { openTestExecutors, type TestExecutors, testModel } from '../testing/executors.ts'
import { draft } from '../wire/events.ts'

let test: TestExecutors
afterEach(() => test.close())

const bootOf = async (tree: string | TreeFile[]) => test.executors.boot(await test.put(tree), 'apprentice')

describe('the boot check', () => {
  it('passes the starting policy, and measures its first request', async () => {
    test = await openTestExecutors()
    const report = await bootOf(await readSeed(join(import.meta.dirname, '../../executor-seed')))
    expect(report).toMatchObject({ passed: true, stage: 'done' })
    expect(report.tools.map(({ name }) => name)).toContain('shell')
    expect(report.firstRequest?.instructionsTokens).toBeGreaterThan(100)
    expect(report.firstRequest?.toolsTokens).toBeGreaterThan(100)
    expect(await test.kinds()).toEqual([])
  })

  it('starts a tree in the very box that production has: the same places, limits, command and environment', async () => {
    test = await openTestExecutors()
    const specs: BoxSpec[] = []
    const { start } = test.provider
    test.provider.start = (spec) => {
      specs.push(spec)
      return start(spec)
    }
    await bootOf('worker')
    await (await test.start('worker')).stop('seen')
    const [boot, production] = specs.map(({ label: _, profile: __, ...spec }) => spec)
    expect(boot).toEqual(production)
    expect(specs.map(({ profile }) => profile)).toEqual(['boot', 'executor'])
    expect(profiles.boot).toEqual({ ...profiles.executor, name: 'boot' })
  })

  it('lets a policy run its tool against canned answers', async () => {
    test = await openTestExecutors()
    expect(await bootOf('worker')).toMatchObject({ passed: true, summary: expect.stringContaining('2 model calls') })
  })

  it('is made over the API of the agent’s latest task: a policy that does not speak it fails', async () => {
    test = await openTestExecutors()
    const created = {
      title: 'talk',
      pack: null,
      instruction: 'Talk.',
      model: { ...testModel, api: 'chat' },
      sandbox: 'local',
      limits: { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null },
      goal: null,
      seed: 0,
      propose: true,
      approve: 'none',
      workdir: '/task',
    } as const
    const place = { actor: 'operator', agent: 'apprentice', task: 'T-1' } as const
    await test.open.history.append([draft('task.created', created, place)])
    const spoken = await readSeed(join(import.meta.dirname, '../../executor-seed'))
    const report = await bootOf(spoken)
    expect(report).toMatchObject({ passed: true, summary: expect.stringContaining('model calls') })
    expect(report.firstRequest?.instructionsTokens).toBeGreaterThan(100)
    const deaf = spoken.map((file) =>
      file.path === 'apis.ts'
        ? { ...file, text: file.text.replace('{ responses, chat }', '{ responses, chat: undefined as never }') }
        : file,
    )
    expect(deaf).not.toEqual(spoken)
    expect(await bootOf(deaf)).toMatchObject({ passed: false, stage: 'turn' })
  })

  it.each([
    ['exits', 'handshake', 3, 'the policy gives up'],
    ['throws', 'turn', null, ''],
    ['idle', 'turn', null, ''],
    ['busy', 'turn', null, ''],
    ['silent', 'handshake', null, ''],
    ['crashes', 'turn', 7, 'TypeError: policy is not a function'],
  ])('fails the policy that %s, and says at which stage', async (policy, stage, exitCode, stderr) => {
    test = await openTestExecutors({ timings: { bootMs: 5000, handshakeMs: 4000 } })
    const report = await bootOf(policy)
    expect(report).toMatchObject({ passed: false, stage, exitCode })
    expect(report.stderr).toContain(stderr)
    expect(report.summary).not.toBe('')
  })

  it('fails a policy with a syntax error, with what Node says of it', async () => {
    test = await openTestExecutors()
    const report = await bootOf([{ path: 'main.ts', text: 'const a: number =\n' }])
    expect(report).toMatchObject({ passed: false, stage: 'handshake', exitCode: 1 })
    expect(report.stderr).toContain('SyntaxError')
  })

  it('fails a policy that never asks the model', async () => {
    test = await openTestExecutors()
    expect(await bootOf('script')).toMatchObject({ passed: false })
  })
})
