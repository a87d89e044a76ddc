// The whole way of a proposal with nothing stood in for but the model: real trees, real boxes, real executors.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createArtifacts } from '../artifacts/store.ts'
import { systemClock } from '../clock.ts'
import type { Executors } from '../executor/executor.ts'
import { createExecutors } from '../executor/executors.ts'
import { createTokenCounter } from '../models/tokens.ts'
import * as files from '../sandbox/files.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { agent, openTestGuardian, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import { boot } from './checks/boot.ts'
import { seed } from './checks/facts/tree.fixture.ts'
import { scope } from './checks/scope.ts'
import { types } from './checks/types.ts'

let test: TestGuardian
let executors: Executors

beforeEach(async () => {
  test = await openTestGuardian({ checks: [scope, types, boot], executors: () => executors, createAgent: false })
  const { history, revisions, provider } = test
  executors = createExecutors({
    ...{ history, revisions, provider, files },
    artifacts: createArtifacts({ history }),
    // No turn of a task is run here, so no model is called.
    gateway: {} as never,
    policy: () => test.guardian,
    clock: systemClock,
    tokens: createTokenCounter(),
    quarantine: { of: async () => new Map() },
  })
  await test.guardian.createAgent(agent, seed)
})
afterEach(async () => {
  await executors.close()
  await test.close()
})

const withFile = (path: string, text: string): TreeFile[] => [
  ...seed.filter((file) => file.path !== path),
  { path, text },
]

async function submit(tree: TreeFile[]): Promise<string> {
  const { proposal } = await test.guardian.submit(agent, tree, 'why', 'claim')
  await test.guardian.settled(agent)
  return proposal
}

describe('a proposal for the starting policy', () => {
  it('passes every check, is approved, and is activated at rest and beside a running generation', async () => {
    const proposal = await submit(withFile('notes.md', '# Notes\n'))
    const detail = await test.guardian.get(agent, proposal)
    expect(detail.checks.map(({ check, verdict, summary }) => `${check} ${verdict}: ${summary}`)).toEqual([
      expect.stringContaining('scope pass'),
      'types pass: no type error',
      expect.stringContaining('boot pass: handshake and one turn'),
    ])
    expect(detail).toMatchObject({ state: 'ready', risk: 'LOW' })
    expect(await test.approve(proposal)).toMatchObject({ state: 'probation', after: detail.revision })

    const folder = join(test.boxesDir, 'T-1')
    mkdirSync(folder)
    const target = new StandInTask({ box: { label: 'T-1', mounts: { root: folder }, workdir: '/task' } })
    test.guardian.attach(agent, target)
    await test.guardian.rollback(agent, 1, detail.revision, 'to see it')
    const [generation] = target.generations
    expect(generation).toMatchObject({ activation: 3 })
    const [started] = await test.events(['executor.started'])
    expect(started?.data).toMatchObject({ activation: 3, tools: expect.arrayContaining([expect.anything()]) })
    await generation?.stop('enough')
  })

  it('[G15] that throws where it starts fails its boot check, with what it said', async () => {
    const broken = withFile('main.ts', "throw new Error('no such luck')\n")
    const detail = await test.guardian.get(agent, await submit(broken))
    expect(detail.state).toBe('failed-checks')
    expect(detail.checks.at(-1)).toMatchObject({
      check: 'boot',
      verdict: 'fail',
      details: { stderr: expect.stringContaining('no such luck') },
    })
  })
})
