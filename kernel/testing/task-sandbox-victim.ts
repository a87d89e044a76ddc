// The sandbox of a task, by a process that a test kills on the way (EXODESK_FAILPOINT): runs a job, takes a second snapshot of a
// name, goes back to it. Argument: data directory.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { openHistory } from '../history/open.ts'
import { localProvider } from '../sandbox/local.ts'
import { RunSandbox } from '../tasks/task-sandbox.ts'
import { testStanding } from './standing.ts'

const [dataDir = ''] = process.argv.slice(2)
const boxesDir = join(dataDir, 'boxes')
const base = join(boxesDir, 'tasks', 'T-1')
mkdirSync(join(base, 'root'), { recursive: true })
const history = await openHistory({ dataDir, clock: systemClock, version: 'test' })
const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
const sandbox = new RunSandbox(
  { history, clock: systemClock, provider, standing: testStanding(provider) },
  {
    ...{ agent: 'a', task: 'T-1', jobsDir: join(base, 'jobs') },
    box: { label: 'T-1', mounts: { root: join(base, 'root') }, workdir: '/task' },
    world: { state: async () => null, load: async () => undefined },
  },
)
await sandbox.open()
const place = { actor: 'kernel', agent: 'a', task: 'T-1', run: 'task' } as const
const sh = (command: string) => sandbox.run({ command, cwd: '/task', timeoutMs: 45_000 })
const job = await sandbox.startJob({ command: 'echo done', cwd: '/task' }, null, place)
await sandbox.logs({ job, offset: 1_000, waitMs: 30_000 }, new AbortController().signal)
for (const text of ['one', 'two']) {
  await sh(`echo ${text} > file`)
  await sandbox.snapshot('s', place)
}
await sh('echo three > file')
await sandbox.restore('s', place)
await sandbox.close()
await provider.close()
await history.close()
