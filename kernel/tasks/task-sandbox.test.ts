import { mkdirSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import type { EventPlace } from '../executor/executor.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import { localProvider } from '../sandbox/local.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { boxMissing } from '../testing/kernel.ts'
import { testStanding } from '../testing/standing.ts'
import type { Event, EventKind } from '../wire/events.ts'
import { JobLog, logBytes } from './job-log.ts'
import { closeOpenWork } from './recovery.ts'
import { RunSandbox } from './task-sandbox.ts'

const agent = 'apprentice'
const place: EventPlace = { actor: 'kernel', agent, task: 'T-1', run: 'task' }
const never = new AbortController().signal

describe.skipIf(boxMissing)('the sandbox of a task', () => {
  let open: TestHistory
  let provider: SandboxProvider
  let sandbox: RunSandbox
  let world: string
  let boxesDir: string
  beforeEach(async () => {
    open = await openTestHistory()
    boxesDir = join(open.dataDir, 'boxes')
    mkdirSync(join(boxesDir, 'tasks', 'T-1', 'root'), { recursive: true })
    provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
    world = 'w0'
    sandbox = await start()
  })
  afterEach(async () => {
    await sandbox.close()
    await provider.close()
    await open.close()
  })

  const base = () => join(boxesDir, 'tasks', 'T-1')
  async function start(): Promise<RunSandbox> {
    const parts = { history: open.history, clock: systemClock, provider, standing: testStanding(provider) }
    const started = new RunSandbox(parts, {
      agent,
      task: 'T-1',
      box: { label: 'T-1', mounts: { root: join(base(), 'root') }, workdir: '/task' },
      jobsDir: join(base(), 'jobs'),
      world: {
        state: async () => world,
        load: async (state) => {
          if (state === 'refused') throw new Error('no such world')
          world = state
        },
      },
    })
    await started.open()
    return started
  }
  const sh = async (command: string) =>
    (await sandbox.run({ command, cwd: '/task', timeoutMs: 45_000 })).stdout.toString('utf8')
  const job = (command: string, options: { timeoutMs?: number; stdin?: string } = {}) =>
    sandbox.startJob({ command, cwd: '/task', ...options }, 'call_1', place)
  const events = async <K extends EventKind>(kind: K) =>
    (await open.history.read({ agent }, { kinds: [kind] })).events.map((event) => (event as Event<K>).data)

  it('ends a job too that is asked for and has not begun: nothing runs in a task at rest', async () => {
    const begun = job('touch begun; sleep 60')
    await Promise.all([sandbox.rest(), expect(begun).rejects.toMatchObject({ code: 'cancelled' })])
    expect(sandbox.jobs()).toEqual([])
    expect(await events('job.started')).toEqual([])
    expect(await sh('ls')).toBe('')
    // The control: asked for again, it runs until it is ended.
    const name = await job('touch begun; sleep 60')
    await sandbox.rest()
    expect(sandbox.jobs()).toMatchObject([{ job: name, state: 'ended', ending: 'killed' }])
  })

  it('begins no command while it is restored: what is asked for then finds the restored sandbox, and stays', async () => {
    await sh('echo old > a')
    await sandbox.snapshot('s', place)
    await sh('echo new > a')
    const [, seen] = await Promise.all([sandbox.restore('s', place), sh('cat a; echo later > b')])
    expect(seen).toBe('old\n')
    expect(await sh('cat a b')).toBe('old\nlater\n')
  })

  it('runs a job beside commands, shows what it writes as it comes, and keeps all of it at its end', async () => {
    const name = await job(
      'read -r line; echo "got $line"; until [ -e go ]; do sleep 0.01; done; echo end >&2; exit 3',
      {
        stdin: 'word\n',
      },
    )
    expect(name).toBe('job-1')
    const seen = await sandbox.logs({ job: name, offset: 0, waitMs: 30_000 }, never)
    expect(seen).toMatchObject({ text: 'got word\n', from: 0, to: 9, state: 'running', stdoutBytes: 9 })
    await sh('touch go')
    expect(await sandbox.logs({ job: name, offset: 9, waitMs: 30_000 }, never)).toMatchObject({
      ...{ text: '', from: 9, to: 9, state: 'ended', ending: 'exited', exitCode: 3, stderrBytes: 4 },
    })
    expect((await sandbox.logs({ job: name, stream: 'stderr' }, never)).text).toBe('end\n')
    expect(await events('job.started')).toEqual([{ job: 'job-1', command: expect.any(String), call: 'call_1' }])
    const [ended] = await events('job.ended')
    expect(ended).toMatchObject({ job: 'job-1', ending: 'exited', exitCode: 3, stdoutBytes: 9, stderrBytes: 4 })
    expect((await open.history.getBlob(ended?.stdoutBlob ?? '')).toString()).toBe('got word\n')
    expect(await open.history.mayRead(agent, ended?.stderrBlob ?? '')).toBe(true)
    expect(readdirSync(join(base(), 'jobs'))).toEqual([])
  })

  it('ends jobs at their time limit, on demand, and with the rest of the task', async () => {
    const late = await job('sleep 1000', { timeoutMs: 100 })
    const killed = await job('setsid sleep 1000 & sleep 1000')
    const resting = await job('sleep 1000')
    expect(await sandbox.logs({ job: late, waitMs: 30_000 }, never)).toMatchObject({ ending: 'timed-out' })
    expect(await sandbox.killJob(killed)).toMatchObject({ state: 'ended', ending: 'killed' })
    expect(await sandbox.killJob(killed)).toMatchObject({ ending: 'killed' })
    await expect(sandbox.killJob('job-9')).rejects.toMatchObject({ code: 'not-found' })
    await sandbox.rest()
    expect(sandbox.jobs().map(({ job, ending }) => [job, ending])).toEqual([
      [late, 'timed-out'],
      [killed, 'killed'],
      [resting, 'killed'],
    ])
    expect(await sh('echo on')).toBe('on\n')
  })

  it('refuses a ninth job, and one that cannot start leaves nothing', async () => {
    await Promise.all(Array.from({ length: 8 }, () => job('sleep 1000')))
    await expect(job('true')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/8 jobs run already \(job-1, /),
    })
    await sandbox.rest()
    await expect(sandbox.startJob({ command: 'true', cwd: '/no' }, null, place)).rejects.toMatchObject({
      code: 'invalid',
    })
    expect([sandbox.jobs().length, (await events('job.started')).length]).toEqual([8, 8])
  })

  it('lets go of a wait that is cancelled', async () => {
    const name = await job('sleep 1000')
    const stop = new AbortController()
    const waiting = sandbox.logs({ job: name, waitMs: 60_000 }, stop.signal)
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('ends jobs as lost where the box ends under them, or the kernel is killed, and knows them after a restart', async () => {
    await job('echo out; sleep 1000')
    await sandbox.logs({ job: 'job-1', offset: 0, waitMs: 30_000 }, never)
    await provider.killAll('T-1')
    expect(await sandbox.logs({ job: 'job-1', offset: 4, waitMs: 30_000 }, never)).toMatchObject({ ending: 'lost' })
    // As a kill leaves it: a start without an end.
    await open.history.append([
      { kind: 'job.started', data: { job: 'job-2', command: 'make', call: null }, ...place } as never,
    ])
    const model = { api: 'responses', simulated: true } as const
    await closeOpenWork(open.history, { agent, task: 'T-1', model })
    await closeOpenWork(open.history, { agent, task: 'T-1', model })
    expect((await events('job.ended')).map(({ job, ending }) => [job, ending])).toEqual([
      ['job-1', 'lost'],
      ['job-2', 'lost'],
    ])
    await sandbox.close()
    sandbox = await start()
    expect(sandbox.jobs().map(({ job, state }) => [job, state])).toEqual([
      ['job-1', 'ended'],
      ['job-2', 'ended'],
    ])
    expect((await sandbox.logs({ job: 'job-1' }, never)).text).toBe('out\n')
    expect(await job('true')).toBe('job-3')
  })

  it('takes sandbox and world together and brings both back; jobs end with it', async () => {
    await sh('echo one > file')
    world = 'w1'
    expect(await sandbox.snapshot('start', place)).toMatchObject({ name: 'start', sizeBytes: expect.any(Number) })
    const [taken] = await events('sandbox.snapshotted')
    expect((await open.history.getBlob(taken?.world ?? '')).toString()).toBe('w1')
    await sh('echo two > file')
    world = 'w2'
    const name = await job('sleep 1000')
    await sandbox.restore('start', place)
    expect([await sh('cat file'), world]).toEqual(['one\n', 'w1'])
    expect(sandbox.jobs()).toMatchObject([{ job: name, ending: 'killed' }])
    expect(await events('sandbox.restored')).toEqual([{ name: 'start' }])
    await expect(sandbox.restore('never', place)).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringMatching(/there are: start/),
    })
  })

  it('keeps the earlier snapshot of a name until the later one is acknowledged, and forgets what no event speaks of', async () => {
    await sh('echo one > file')
    await sandbox.snapshot('a', place)
    await sh('echo two > file')
    await provider.snapshot(sandbox.place, 's-7')
    await sandbox.close()
    sandbox = await start()
    expect((await provider.snapshots(sandbox.place)).map(({ name }) => name)).toEqual(['s-1'])
    await sandbox.restore('a', place)
    expect(await sh('cat file')).toBe('one\n')
    await sh('echo three > file')
    await sandbox.snapshot('a', place)
    expect([
      (await sandbox.snapshots()).map(({ name }) => name),
      (await provider.snapshots(sandbox.place)).length,
    ]).toEqual([['a'], 1])
    await sandbox.restore('a', place)
    expect(await sh('cat file')).toBe('three\n')
  })

  it('leaves both as they are where one cannot be brought back', async () => {
    await sh('echo one > file')
    world = 'refused'
    await sandbox.snapshot('a', place)
    world = 'w2'
    await sh('echo two > file')
    await expect(sandbox.restore('a', place)).rejects.toThrow('no such world')
    expect([await sh('cat file'), world, await events('sandbox.restored')]).toEqual(['two\n', 'w2', []])
    await sandbox.close()
    sandbox = await start()
    // What has failed is not taken up by a later host.
    await sandbox.complete()
    expect([await sh('cat file'), world, await events('sandbox.restored')]).toEqual(['two\n', 'w2', []])
  })

  it('keeps so many snapshots and says which there are', async () => {
    for (let n = 1; n <= 19; n += 1) await sandbox.snapshot(`s${n}`, place)
    await expect(sandbox.snapshot('more', place)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/19 snapshots.*s1, s2/),
    })
    await sandbox.snapshot('s1', place)
  }, 120_000)
})

describe('the log of a job', () => {
  it('keeps the last 16 MiB of what was written, whatever the pieces', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'exodesk-log-'))
    const log = await JobLog.open(join(dir, 'log'))
    const all: Buffer[] = []
    for (let n = 0; n < 40; n += 1) {
      const chunk = Buffer.alloc(1_000_003 + n, n + 1)
      all.push(chunk)
      void log.write(chunk)
    }
    const whole = Buffer.concat(all)
    const { from, bytes } = await log.read(0, logBytes)
    expect([log.bytes, from, bytes.equals(whole.subarray(-logBytes))]).toEqual([
      whole.length,
      whole.length - logBytes,
      true,
    ])
    expect((await log.read(whole.length - 5, 100)).bytes.equals(whole.subarray(-5))).toBe(true)
    expect((await log.read(whole.length + 5, 100)).bytes.length).toBe(0)
    await log.remove()
    expect(readdirSync(dir)).toEqual([])
    await rm(dir, { recursive: true })
  })
})
