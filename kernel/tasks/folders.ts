import { chmod, chown, cp, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Host folders of one task, all below DATA/boxes/tasks/T-n. Nothing else of the data directory is ever mounted for it. */
export interface TaskFolders {
  base: string
  /** With task, home, opt and tmp inside. */
  root: string
  policy: string
  journal: string
  socket: string
  /** Copy of the world program, so that what runs does not change when the pack does. */
  program: string
  /** Holds bin/, the commands that the world offers: all of it that the task sandbox sees. */
  commands: string
}

/** Uid and gid that boxes run as where the kernel is root; an ordinary user's boxes run as that user. */
const boxUid = 65534

export function taskFolders(boxesDir: string, task: string): TaskFolders {
  const base = join(boxesDir, 'tasks', task)
  return {
    base,
    root: join(base, 'root'),
    policy: join(base, 'policy'),
    journal: join(base, 'journal'),
    socket: join(base, 'socket'),
    program: join(base, 'program'),
    commands: join(base, 'commands'),
  }
}

async function own(path: string): Promise<void> {
  await chmod(path, 0o755)
  if (process.getuid?.() === 0) await chown(path, boxUid, boxUid)
}

/** Makes the folders of a new task and copies the pack's environment into the workdir, before anything of the agent's runs. */
export async function createFolders(
  folders: TaskFolders,
  environment: string | null,
  program: string | null,
): Promise<void> {
  for (const dir of [folders.base, folders.root, folders.policy, folders.journal, folders.socket])
    await mkdir(dir, { recursive: true })
  for (const place of ['task', 'home', 'opt', 'tmp']) {
    await mkdir(join(folders.root, place), { recursive: true })
    await own(join(folders.root, place))
  }
  for (const dir of [folders.policy, folders.journal, folders.socket]) await own(dir)
  if (program !== null) {
    await rm(folders.program, { recursive: true, force: true })
    await cp(program, folders.program, { recursive: true, dereference: true })
    await cp(join(program, 'bin'), join(folders.commands, 'bin'), { recursive: true, dereference: true })
  }
  if (environment !== null) {
    const skip = new Set(['Dockerfile', 'docker-compose.yaml'])
    await cp(environment, join(folders.root, 'task'), {
      recursive: true,
      filter: (source) => !skip.has(source.slice(environment.length + 1)),
    })
    await chownAll(join(folders.root, 'task'))
  }
}

async function chownAll(dir: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() || entry.isDirectory()) await chown(join(entry.parentPath, entry.name), boxUid, boxUid)
  }
  await chown(dir, boxUid, boxUid)
}

/**
 * Copies the final state for the grader. Links are copied as links and special files are left out: nothing that
 * the agent planted is followed. Call it only when no box of the task runs.
 */
export async function copyForGrading(
  folders: TaskFolders,
  tests: string,
  world: string | null,
): Promise<{ root: string; tests: string; logs: string }> {
  const base = join(folders.base, 'grading')
  await rm(base, { recursive: true, force: true })
  const graded = { root: join(base, 'root'), tests: join(base, 'tests'), logs: join(base, 'logs') }
  await mkdir(graded.logs, { recursive: true })
  await cp(folders.root, graded.root, {
    recursive: true,
    verbatimSymlinks: true,
    dereference: false,
    filter: async (source) => {
      const entry = await lstat(source)
      return entry.isFile() || entry.isDirectory() || entry.isSymbolicLink()
    },
  })
  await cp(tests, graded.tests, { recursive: true })
  if (world !== null) await writeFile(join(graded.tests, 'world.json'), world)
  await own(graded.logs)
  for (const place of ['task', 'home', 'opt', 'tmp']) await own(join(graded.root, place))
  return graded
}
