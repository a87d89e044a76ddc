import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'
import { copyFolder } from './copy.ts'
import type { Pack } from './pack.ts'

/** Host folders of one task, all below DATA/boxes/tasks/T-n. Nothing else of the data directory is ever mounted for it. */
export interface TaskFolders {
  base: string
  /** With task, home, opt and tmp inside. */
  root: string
  policy: string
  journal: string
  socket: string
  /** Copies of the pack's programs and facts: what runs and grades does not change, or go, when the pack does. */
  program: string
  tests: string
  pack: string
  /** Holds bin/, the commands that the world offers: all of it that the task sandbox sees. */
  commands: string
  /** Sockets of the endpoints. */
  endpoints: string
  grading: string
  /** Logs of running jobs; nothing mounts it. */
  jobs: string
}

/** Uid and gid that boxes run as where the kernel is root; an ordinary user's boxes run as that user. */
const boxOwner = process.getuid?.() === 0 ? 65534 : null
const places = ['task', 'home', 'opt', 'tmp']
/** What a box calls them. */
const homeAt = '/home/agent'

const packLimits = { links: 'refuse', maxBytes: 1024 ** 3, maxEntries: 50_000, owner: null, isPublic: true } as const

export function taskFolders(boxesDir: string, task: string): TaskFolders {
  const base = join(boxesDir, 'tasks', task)
  return {
    base,
    root: join(base, 'root'),
    policy: join(base, 'policy'),
    journal: join(base, 'journal'),
    socket: join(base, 'socket'),
    program: join(base, 'program'),
    tests: join(base, 'tests'),
    pack: join(base, 'pack.json'),
    commands: join(base, 'commands'),
    endpoints: join(base, 'endpoints'),
    grading: join(base, 'grading'),
    jobs: join(base, 'jobs'),
  }
}

async function own(path: string): Promise<void> {
  await chmod(path, 0o755)
  if (boxOwner !== null) await chown(path, boxOwner, boxOwner)
}

/**
 * Makes the folders of a new task and lays the pack's environment into /task, before anything of the agent's runs.
 * Returns the pack as it is kept for this task. An earlier try that was cut short is written over.
 * @throws KernelError `invalid` (a part of the pack is too large, or holds a link where none may be).
 */
export async function createFolders(folders: TaskFolders, pack: Pack): Promise<Pack> {
  await rm(folders.root, { recursive: true, force: true })
  for (const dir of [folders.policy, folders.journal, folders.socket, folders.endpoints])
    await mkdir(dir, { recursive: true })
  for (const place of places) await mkdir(join(folders.root, place), { recursive: true })
  if (pack.environment !== null)
    await copyFolder('the environment of the pack', pack.environment, join(folders.root, 'task'), {
      ...packLimits,
      links: 'keep',
      owner: boxOwner,
      without: ['Dockerfile', 'docker-compose.yaml'],
    })
  await makeWorkdir(folders.root, pack.workdir)
  for (const dir of [folders.policy, folders.journal, folders.socket]) await own(dir)
  for (const place of places) await own(join(folders.root, place))
  return keep(folders, pack)
}

/** The folders of a task that goes on from another's sandbox: all but the root, which comes of a snapshot. */
export async function createForkFolders(folders: TaskFolders, pack: Pack): Promise<Pack> {
  for (const dir of [folders.policy, folders.journal, folders.socket, folders.endpoints])
    await mkdir(dir, { recursive: true })
  for (const dir of [folders.policy, folders.journal, folders.socket]) await own(dir)
  return keep(folders, pack)
}

/** The journal of a world that is at rest. */
export async function copyJournal(from: TaskFolders, to: TaskFolders): Promise<void> {
  await rm(to.journal, { recursive: true, force: true })
  await copyFolder('the journal of the world', from.journal, to.journal, {
    ...packLimits,
    isPublic: false,
    owner: boxOwner,
  })
  await own(to.journal)
}

async function makeWorkdir(root: string, workdir: string): Promise<void> {
  let host = root
  for (const step of workdir.replace(homeAt, '/home').split('/').filter(Boolean)) {
    host = join(host, step)
    // A link of the pack's in its place is left as it is: mkdir does not go through it.
    const isNew = await mkdir(host).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false
        throw error
      },
    )
    if (isNew) await own(host)
  }
}

async function keep(folders: TaskFolders, pack: Pack): Promise<Pack> {
  for (const dir of [folders.program, folders.commands, folders.tests]) await rm(dir, { recursive: true, force: true })
  if (pack.world !== null) {
    await copyFolder('the world of the pack', pack.world.dir, folders.program, packLimits)
    await mkdir(folders.commands)
    await copyFolder('bin/ of the world', join(pack.world.dir, 'bin'), join(folders.commands, 'bin'), packLimits)
  }
  if (pack.tests !== null) await copyFolder('the tests of the pack', pack.tests, folders.tests, packLimits)
  const kept: Pack = {
    ...pack,
    environment: null,
    tests: pack.tests === null ? null : folders.tests,
    world: pack.world === null ? null : { ...pack.world, dir: folders.program },
  }
  await writeFile(folders.pack, JSON.stringify(kept))
  return kept
}

/** The pack as it was when the task was started. @throws KernelError `unavailable` where the task's folder is gone. */
export async function keptPack(folders: TaskFolders): Promise<Pack> {
  try {
    return JSON.parse(await readFile(folders.pack, 'utf8')) as Pack
  } catch (error) {
    throw new KernelError('unavailable', `the folder of the task, ${folders.base}, cannot be used`, { cause: error })
  }
}

/** What the grader gets beside the final state: the tests, the measured state of the world, and a folder to write to. */
export async function addTests(
  folders: TaskFolders,
  tests: string,
  world: string | null,
): Promise<{ tests: string; logs: string }> {
  const base = folders.grading
  await rm(base, { recursive: true, force: true })
  const added = { tests: join(base, 'tests'), logs: join(base, 'logs') }
  await mkdir(added.logs, { recursive: true })
  await copyFolder('the tests of the pack', tests, added.tests, packLimits)
  if (world !== null) await writeFile(join(added.tests, 'world.json'), world)
  await own(added.logs)
  return added
}
