// With real boxes: the copy is edited, frozen and read as an agent's is, and the candidate is type-checked in a check box.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PolicyOrigin } from '../executor/executor.ts'

import { createFolders, taskFolders } from '../tasks/folders.ts'
import { readPack } from '../tasks/pack.ts'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import { boot } from './checks/boot.ts'
import { candidateOf } from './checks/candidate.fixture.ts'
import { seed } from './checks/facts/tree.fixture.ts'
import { scope } from './checks/scope.ts'
import { types } from './checks/types.ts'

let test: TestGuardian
let target: StandInTask
let origin: PolicyOrigin
let detach: () => void

beforeEach(async () => {
  test = await openTestGuardian({ checks: [scope, types, boot] })
  const report = await test.provider.report()
  if (!report.available) throw new Error(`these tests need boxes: ${report.reason}. ${report.fix ?? ''}`)
  const folders = taskFolders(test.boxesDir, 'T-1')
  await createFolders(folders, await readPack(join(import.meta.dirname, '../../tasks/hollowmere/skills')))
  const box = { label: 'T-1', mounts: { root: folders.root, policy: folders.policy }, workdir: '/task' }
  target = new StandInTask({ box })
  await test.guardian.layPolicy(agent, box, 'T-1')
  detach = test.guardian.attach(agent, target)
  const { revision = '' } = (await test.guardian.active(agent)) ?? {}
  origin = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision, box }
})
afterEach(() => test.close())

async function shell(command: string): Promise<string> {
  const { profile, label, mounts } = { profile: 'task' as const, ...target.box() }
  const output = await test.provider.run({ profile, label, mounts, argv: ['sh', '-c', command], timeoutMs: 30_000 })
  expect([output.exitCode, output.stderr.toString('utf8')]).toEqual([0, ''])
  return output.stdout.toString('utf8')
}

const said = { claim: 'it gets better', why: 'as seen' }

async function propose() {
  const made = await test.guardian.propose(origin, said)
  await test.guardian.settled(agent)
  return made.proposal
}

describe('the working copy at /policy', () => {
  it('is laid once from the active revision, with the files of the kernel beside it', async () => {
    expect((await shell('ls /policy')).trim().split('\n')).toEqual(['main.ts', 'package.json', 'wire.d.ts'])
    await shell('echo "// more" >> /policy/main.ts')
    await test.guardian.layPolicy(agent, target.box(), 'T-1')
    expect(await shell('cat /policy/main.ts')).toBe('// one\n// more\n')
    const status = await test.guardian.status(agent, 'T-1')
    expect(status.changed).toEqual([{ path: 'main.ts', change: 'changed', addedLines: 1, removedLines: 0 }])
    expect(status.base).toBe(status.active.revision)
    expect(await test.guardian.diff(agent, 'T-1')).toContain('+// more')
    expect(await test.guardian.read(agent, 'main.ts')).toBe('// one\n')
    detach()
    await expect(test.guardian.status(agent, 'T-1')).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('is proposed as it stands, and what is activated from it becomes its base', async () => {
    await shell('echo "export const answer: number = 42" > /policy/main.ts')
    await propose()
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      state: 'ready',
      by: 'executor',
      task: 'T-1',
      checks: [{ check: 'scope' }, { check: 'types', verdict: 'pass' }, { check: 'boot' }],
    })
    const [made] = await test.events(['proposal.made'])
    expect(made).toMatchObject({ actor: 'executor', task: 'T-1', generation: 1, turn: 1, step: 1 })
    await shell('echo "// later" >> /policy/main.ts')
    await test.approve('P-1')
    const status = await test.guardian.status(agent, 'T-1')
    expect(status.base).toBe(status.active.revision)
    expect(status.changed).toMatchObject([{ path: 'main.ts', addedLines: 1, removedLines: 0 }])
    expect(status.proposals).toMatchObject([{ proposal: 'P-1', state: 'probation', failedChecks: [] }])
  })

  it('goes stale after a rollback, and is laid anew only when the agent asks: what was there is kept', async () => {
    await shell('echo "export const two = 2" > /policy/main.ts')
    await propose()
    await test.approve('P-1')
    const { revision } = (await test.guardian.active(agent)) ?? { revision: '' }
    await test.guardian.rollback(agent, 1, revision, 'worse')
    expect(await shell('cat /policy/main.ts')).toBe('export const two = 2\n')
    await shell('echo "export const three = 3" > /policy/main.ts')
    expect((await test.guardian.propose(origin, said)).state).toBe('stale')
    expect((await test.guardian.get(agent, 'P-2')).reason).toContain('policy.reset')

    const status = await test.guardian.reset(origin, 'active')
    expect(status).toMatchObject({ base: status.active.revision, changed: [] })
    expect(await shell('cat /policy/main.ts')).toBe('// one\n')
    const [backup] = await test.history.artifactVersions(agent, 'policy-backup')
    const kept = JSON.parse((await test.history.getBlob(backup?.hash ?? '')).toString('utf8'))
    expect(kept).toEqual([{ path: 'main.ts', text: 'export const three = 3\n' }])
    await expect(test.guardian.reset(origin, 'f'.repeat(64))).rejects.toMatchObject({ code: 'not-found' })
    await test.guardian.reset(origin, revision)
    expect(await shell('cat /policy/main.ts')).toBe('export const two = 2\n')
  })

  it('that is no revision is refused with each problem, and read as one again once mended', async () => {
    await shell('ln -s /etc/passwd /policy/notes.md')
    await test.guardian.propose(origin, said)
    expect(await test.guardian.get(agent, 'P-1')).toMatchObject({
      state: 'failed-checks',
      problems: [{ path: './notes.md', problem: expect.stringContaining('symbolic link') }],
    })
    expect((await test.guardian.status(agent, 'T-1')).problems).toHaveLength(1)
    await expect(test.guardian.reset(origin, 'base')).rejects.toThrow(/notes.md/)
    await shell('rm /policy/notes.md')
    expect((await test.guardian.status(agent, 'T-1')).problems).toBeUndefined()
  })

  it.each([
    ['emptied', 'rm -rf /policy/* && ! rmdir /policy 2>/dev/null', 'main.ts', 'is missing'],
    ['one link to a folder', 'rm -rf /policy/* && ln -s /usr /policy/main.ts', './main.ts', 'symbolic link'],
    ['a file of 1 GB', 'truncate -s 1G /policy/big.txt', './big.txt', 'larger than'],
    ['100,000 files', 'cd /policy && seq -f "%06g.txt" 100000 | xargs touch', '.', 'more than 500 files'],
    ['a pipe', 'mkfifo /policy/pipe.ts', './pipe.ts', 'named pipe'],
    ['a hard link', 'ln /policy/main.ts /policy/other.ts', './other.ts', 'hard link'],
    ['a repository', 'mkdir /policy/.git && touch /policy/.git/config', './.git/', 'begins with a dot'],
    ['a folder in place of main.ts', 'rm /policy/main.ts && mkdir /policy/main.ts', 'main.ts', 'is missing'],
  ])('[G11] that is %s is refused, and named, while the task works on', async (_name, command, path, problem) => {
    await shell(command)
    await propose()
    const { state, reason, problems, checks } = await test.guardian.get(agent, 'P-1')
    expect(state).toBe('failed-checks')
    expect(reason).toContain(problem)
    const named = [...problems, ...((checks[0]?.details as { problems?: typeof problems } | null)?.problems ?? [])]
    expect(named).toContainEqual({ path, problem: expect.stringContaining(problem) })
    expect(await shell('echo works')).toBe('works\n')
    expect(await test.guardian.active(agent)).toMatchObject({ activation: 1 })
  })

  it('[G11] cannot be replaced by a link: the kernel mounts its own folder, or nothing', async () => {
    const { renameSync, symlinkSync } = await import('node:fs')
    const { policy } = taskFolders(test.boxesDir, 'T-1')
    renameSync(policy, `${policy}-away`)
    symlinkSync('/etc', policy)
    await expect(test.guardian.propose(origin, said)).rejects.toThrow(/links are not followed/)
    await expect(test.guardian.status(agent, 'T-1')).rejects.toMatchObject({ code: 'invalid' })
    expect(await test.events(['proposal.made'])).toEqual([])
  })

  it('[G1] that is edited after it was proposed changes nothing of the proposal', async () => {
    await shell('echo "export const two = 2" > /policy/main.ts')
    await propose()
    const before = await test.guardian.view(agent, 'P-1')
    await shell('echo "fetch(1)" > /policy/main.ts')
    const shownFile = await test.guardian.file(agent, 'P-1', 'main.ts')
    expect(shownFile.after).toBe('export const two = 2\n')
    await test.guardian.approve({ agent, proposal: 'P-1', reason: '', ...before })
    const [file] = await test.revisions.read((await test.guardian.active(agent))?.revision ?? '')
    expect(file?.text).toBe('export const two = 2\n')
  })

  it('refuses evidence that is not in the agent’s history', async () => {
    await shell('echo "export {}" > /policy/main.ts')
    await expect(test.guardian.propose(origin, { ...said, evidence: [999] })).rejects.toThrow(/999/)
    await test.guardian.createAgent('other', policy('theirs'))
    const [foreign] = (await test.history.read({ agent: 'other' }, { limit: 1 })).events
    await expect(test.guardian.propose(origin, { ...said, evidence: [foreign?.seq ?? 0] })).rejects.toThrow(
      `evidence names events that are not in this agent's history: ${foreign?.seq}`,
    )
    await test.guardian.propose(origin, { ...said, evidence: [1, 1, 2] })
    expect((await test.guardian.get(agent, 'P-1')).evidence).toEqual([1, 2])
    expect(await test.guardian.withdraw(agent, 'P-1')).toBe('withdrawn')
  })

  it('is approved by the run itself where its flag says so', async () => {
    detach()
    target = new StandInTask({ box: target.box(), approve: 'all' })
    test.guardian.attach(agent, target)
    await shell('echo "export const two = 2" > /policy/main.ts')
    await propose()
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('probation')
    expect(target.generations).toHaveLength(1)
    // The next one waits for the probation to end, and is then approved without being asked for.
    await shell('echo "export const three = 3" > /policy/main.ts')
    await propose()
    expect((await test.guardian.get(agent, 'P-2')).state).toBe('ready')
    for (let step = 0; step < 3; step += 1) await test.step()
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-2')).state).toBe('probation')
    const reviewed = await test.events(['proposal.reviewed'])
    expect(reviewed.map(({ actor, data }) => ({ actor, ...data }))).toMatchObject([
      { actor: 'kernel', by: 'flag', proposal: 'P-1' },
      { actor: 'kernel', by: 'flag', proposal: 'P-2' },
    ])
  })
})

describe('the types check', () => {
  it('passes the starting policy, which knows the wire by #wire', async () => {
    await test.guardian.submit(agent, seed, 'why', 'claim')
    await test.guardian.settled(agent)
    const { checks } = await test.guardian.get(agent, 'P-1')
    expect(checks.map(({ check, verdict, summary }) => `${check} ${verdict}: ${summary}`)).toContain(
      'types pass: no type error',
    )
  })

  it('[C23] fails an error of the policy’s, naming file and line', async () => {
    const wrong = `import type { Json } from '#wire'\nexport const json: Json = () => 1\nenum E { A }\n`
    await test.guardian.submit(agent, policy('x', { 'tools/wrong.ts': wrong }), 'why', 'claim')
    await test.guardian.settled(agent)
    const { checks, state } = await test.guardian.get(agent, 'P-1')
    expect(state).toBe('failed-checks')
    expect(checks.at(-1)).toMatchObject({
      check: 'types',
      verdict: 'fail',
      summary: expect.stringContaining('tools/wrong.ts:2'),
      details: {
        errors: 2,
        diagnostics: [
          { path: 'tools/wrong.ts', line: 2 },
          { line: 3, code: 'TS1294' },
        ],
      },
    })
    expect(test.executors.booted).toEqual([])
  })

  it('[G12] [C23] takes no configuration from the policy', async () => {
    const hostile = {
      'tsconfig.json': '{"compilerOptions": {"noCheck": true, "strict": false}}',
      'lib/tsconfig.json': '{"compilerOptions": {"noCheck": true}}',
      'lib/a.ts': 'export const a: number = "a"\n',
    }
    await test.guardian.submit(agent, policy('x', hostile), 'why', 'claim')
    await test.guardian.settled(agent)
    expect((await test.guardian.get(agent, 'P-1')).reason).toContain('types: lib/a.ts:1')
  })

  it('[G13] runs nothing that a tree brings for its builders: hooks, scripts and configurations are text', async () => {
    const ran = "throw new Error('it ran')\n"
    const hostile = {
      'package.json':
        '{"scripts": {"postinstall": "touch /tmp/ran", "prepare": "touch /tmp/ran", "prebuild": "touch /tmp/ran"}}',
      'vite.config.ts': ran,
      'vitest.config.ts': ran,
      'types/postinstall.ts': ran,
    }
    await test.guardian.submit(agent, policy('x', hostile), 'why', 'claim')
    await test.guardian.settled(agent)
    const { state, checks, revision } = await test.guardian.get(agent, 'P-1')
    expect(checks.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual(['scope pass', 'types pass', 'boot pass'])
    expect(state).toBe('ready')
    // The kernel's own package.json is what lies beside the tree.
    const paths = (await test.revisions.read(revision)).map(({ path }) => path)
    expect(paths).toEqual(['main.ts', 'types/postinstall.ts', 'vite.config.ts', 'vitest.config.ts'])
  })

  it('is unresolved where there is no checker, and that is no pass', async () => {
    await test.close()
    const { localProvider } = await import('../sandbox/local.ts')
    const { systemClock } = await import('../clock.ts')
    test = await openTestGuardian()
    const bare = localProvider({
      boxesDir: test.boxesDir,
      nodePath: process.execPath,
      checkerMounts: [],
      clock: systemClock,
    })
    const files = policy('two')
    const candidate = candidateOf({ files, revision: await test.revisions.put(files) })
    const parts = { provider: bare, revisions: test.revisions } as never
    expect(await types.run(candidate, parts, new AbortController().signal)).toMatchObject({ verdict: 'unresolved' })
    await bare.close()
  })
})
