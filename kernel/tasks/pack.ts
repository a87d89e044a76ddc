import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { KernelError } from '../errors.ts'

/**
 * A task pack: a folder in the format that agent benchmarks share (Harbor: task.toml, instruction.md, environment/, tests/),
 * plus an optional table `[exodesk]` that names a world program and the measured goal.
 */
export interface Pack {
  /** As given to `run`: a path. */
  pack: string
  dir: string
  name: string
  description: string
  instruction: string
  workdir: string
  /** Folder laid into the workdir at the start; null: none. */
  environment: string | null
  /** Folder of the grader; null: no grader. */
  tests: string | null
  world: { dir: string; objective: string } | null
  goal: { goal: number; unit: string } | null
  maxSteps: number | null
  timeoutMs: number | null
  verifierTimeoutMs: number
  /** Why it cannot run in local boxes; null when it can. */
  blocked: string | null
}

const packToml = z.looseObject({
  schema_version: z.string().optional(),
  version: z.string().optional(),
  task: z.looseObject({ name: z.string().optional(), description: z.string().optional() }).optional(),
  agent: z.looseObject({ timeout_sec: z.number().positive().optional() }).optional(),
  verifier: z.looseObject({ timeout_sec: z.number().positive().optional() }).optional(),
  environment: z.looseObject({ workdir: z.string().optional(), docker_image: z.string().optional() }).optional(),
  exodesk: z
    .strictObject({
      world: z.string().optional(),
      objective: z.string().optional(),
      goal: z.strictObject({ unit: z.string(), value: z.number().positive() }).optional(),
      max_steps: z.number().int().positive().optional(),
    })
    .optional(),
})

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Reads one pack.
 * @throws KernelError `not-found` (no task.toml there), `invalid` (names the field that does not fit).
 */
export async function readPack(pack: string): Promise<Pack> {
  const dir = resolve(pack)
  const file = join(dir, 'task.toml')
  if (!(await exists(file))) {
    throw new KernelError('not-found', `no task pack at ${pack}: there is no task.toml in it`)
  }
  let parsed: z.infer<typeof packToml>
  try {
    parsed = packToml.parse(parse(await readFile(file, 'utf8')))
  } catch (error) {
    const detail = error instanceof z.ZodError ? z.prettifyError(error) : String((error as Error).message)
    throw new KernelError('invalid', `${pack}/task.toml cannot be used: ${detail}`, { cause: error })
  }
  if (!(await exists(join(dir, 'instruction.md')))) {
    throw new KernelError('invalid', `${pack} has no instruction.md: a pack states its objective there`)
  }
  const own = parsed.exodesk ?? {}
  const world =
    own.world === undefined ? null : { dir: resolve(dir, own.world), objective: own.objective ?? basename(dir) }
  if (world !== null && !(await exists(join(world.dir, 'main.ts')))) {
    throw new KernelError('invalid', `${pack}: its world folder ${own.world} has no main.ts`)
  }
  const environment = join(dir, 'environment')
  const needsImage =
    parsed.environment?.docker_image !== undefined ||
    (await exists(join(environment, 'Dockerfile'))) ||
    (await exists(join(environment, 'docker-compose.yaml')))
  const timeout = parsed.agent?.timeout_sec
  return {
    pack,
    dir,
    name: parsed.task?.name ?? basename(dir),
    description: parsed.task?.description ?? '',
    instruction: (await readFile(join(dir, 'instruction.md'), 'utf8')).trim(),
    workdir: parsed.environment?.workdir ?? '/task',
    environment: (await exists(environment)) ? environment : null,
    tests: (await exists(join(dir, 'tests', 'test.sh'))) ? join(dir, 'tests') : null,
    world,
    goal: own.goal === undefined ? null : { goal: own.goal.value, unit: own.goal.unit },
    maxSteps: own.max_steps ?? null,
    timeoutMs: timeout === undefined ? null : Math.round(timeout * 1000),
    verifierTimeoutMs: Math.round((parsed.verifier?.timeout_sec ?? 600) * 1000),
    blocked: needsImage ? 'needs Docker: the pack brings an image of its own' : null,
  }
}

/** The packs below a folder, `WORLD/OBJECTIVE/task.toml` or `PACK/task.toml`. One that cannot be read is listed with the reason. */
export async function listPacks(root: string): Promise<(Pack | { pack: string; problem: string })[]> {
  const found: (Pack | { pack: string; problem: string })[] = []
  const visit = async (dir: string, depth: number): Promise<void> => {
    if (await exists(join(dir, 'task.toml'))) {
      try {
        found.push(await readPack(dir))
      } catch (error) {
        found.push({ pack: dir, problem: (error as Error).message })
      }
      return
    }
    if (depth === 0) return
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      if (entry.isDirectory() && entry.name !== 'node_modules') await visit(join(dir, entry.name), depth - 1)
    }
  }
  await visit(root, 2)
  return found
}
