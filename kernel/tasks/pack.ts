import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import type { ProviderName } from '../sandbox/sandbox.ts'
import { type Endpoint, endpointsSchema } from './endpoint-address.ts'

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
  /** Absolute, in the sandbox. */
  workdir: string
  /** Folder laid into /task at the start; null: none. */
  environment: string | null
  /** Folder of the grader; null: no grader. */
  tests: string | null
  world: { dir: string; objective: string } | null
  goal: { goal: number; unit: string } | null
  /** Services of this machine that it asks to reach. */
  endpoints: Endpoint[]
  maxSteps: number | null
  timeoutMs: number | null
  verifierTimeoutMs: number
  /** Why it cannot run in local boxes; null when it can. */
  blocked: string | null
  /** The image it begins with in a Docker box; null: the base image. */
  image: string | null
  /** It brings a recipe for an image, which nobody follows here. */
  builds: boolean
}

const tomlBytes = 65_536
/** The instruction is part of one event, which holds 256 KiB. */
const instructionBytes = 100_000
/** Folders of the sandbox that a local box has of its own. */
const localFolders = ['/task', '/home/agent', '/opt', '/tmp']

const seconds = z
  .number()
  .positive()
  .max(7 * 86_400)
const version = z.string().regex(/^1(\.\d+)?$/, 'is not a version known here: there are 1.0 to 1.4')

const packToml = z.looseObject({
  schema_version: version.optional(),
  /** As packs before schema_version had it. */
  version: version.optional(),
  task: z
    .looseObject({ name: z.string().max(200).optional(), description: z.string().max(2000).optional() })
    .optional(),
  agent: z.looseObject({ timeout_sec: seconds.optional() }).optional(),
  verifier: z.looseObject({ timeout_sec: seconds.optional() }).optional(),
  environment: z
    .looseObject({ workdir: z.string().max(500).optional(), docker_image: z.string().optional() })
    .optional(),
  steps: z.array(z.unknown()).max(0, 'packs of several steps cannot be run here').optional(),
  exodesk: z
    .strictObject({
      world: z.string().optional(),
      objective: z.string().max(200).optional(),
      goal: z.strictObject({ unit: z.string().max(50), value: z.number().positive() }).optional(),
      max_steps: z.number().int().positive().optional(),
      endpoints: endpointsSchema.optional(),
    })
    .optional(),
})

/**
 * Reads one pack. Nothing of it is followed out of it: what is read here is shown to a model, and a link could lead to
 * anything that this user may read.
 * @throws KernelError `not-found` (no task.toml there), `invalid` (names the field or file that does not fit).
 */
export async function readPack(pack: string): Promise<Pack> {
  const dir = resolve(pack)
  const toml = await readOwn(pack, dir, 'task.toml', tomlBytes)
  if (toml === null) throw new KernelError('not-found', `no task pack at ${pack}: there is no task.toml in it`)
  let parsed: z.infer<typeof packToml>
  try {
    parsed = packToml.parse(parse(toml))
  } catch (error) {
    const detail = error instanceof z.ZodError ? z.prettifyError(error) : String((error as Error).message)
    throw new KernelError('invalid', `${pack}/task.toml cannot be used: ${detail}`, { cause: error })
  }
  const instruction = await readOwn(pack, dir, 'instruction.md', instructionBytes)
  if (instruction === null || instruction.trim() === '')
    throw new KernelError('invalid', `${pack} has no instruction.md: a pack states its objective there`)
  const own = parsed.exodesk ?? {}
  const tests = await ownFolder(pack, dir, 'tests')
  const environment = await ownFolder(pack, dir, 'environment')
  const workdir = parsed.environment?.workdir ?? '/task'
  if (!workdir.startsWith('/') || resolve(workdir) !== workdir)
    throw new KernelError('invalid', `${pack}: workdir ${workdir} must be an absolute path without . or ..`)
  const timeout = parsed.agent?.timeout_sec
  return {
    pack,
    dir,
    name: parsed.task?.name || basename(dir),
    description: parsed.task?.description ?? '',
    instruction: instruction.trim(),
    workdir,
    environment,
    tests: tests !== null && (await kindOf(join(tests, 'test.sh'))) === 'file' ? tests : null,
    world:
      own.world === undefined
        ? null
        : { dir: await worldFolder(pack, dir, own.world), objective: own.objective ?? basename(dir) },
    goal: own.goal === undefined ? null : { goal: own.goal.value, unit: own.goal.unit },
    endpoints: own.endpoints ?? [],
    maxSteps: own.max_steps ?? null,
    timeoutMs: timeout === undefined ? null : Math.round(timeout * 1000),
    verifierTimeoutMs: Math.round((parsed.verifier?.timeout_sec ?? 600) * 1000),
    ...(await needsOfDocker(parsed.environment?.docker_image, environment, workdir)),
  }
}

/** Why a pack cannot run in a box of this provider; null when it can. */
export function blockedIn(pack: Pack, sandbox: ProviderName): string | null {
  if (sandbox === 'local') return pack.blocked
  if (pack.builds)
    return 'brings a Dockerfile, and images are not built here: build it with docker, and name the image as docker_image in task.toml'
  return pack.image !== null || pack.blocked === null
    ? null
    : `works in ${pack.workdir}, which the base image does not have: name an image that has it as docker_image in task.toml`
}

/** The packs below a folder, `WORLD/OBJECTIVE/task.toml` or `PACK/task.toml`. One that cannot be read is listed with the reason. */
export async function listPacks(root: string): Promise<(Pack | { pack: string; problem: string })[]> {
  const found: (Pack | { pack: string; problem: string })[] = []
  const visit = async (dir: string, depth: number): Promise<void> => {
    if ((await kindOf(join(dir, 'task.toml'))) !== null) {
      try {
        found.push(await readPack(dir))
      } catch (error) {
        found.push({ pack: dir, problem: (error as Error).message })
      }
      return
    }
    if (depth === 0) return
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory() && entry.name !== 'node_modules') await visit(join(dir, entry.name), depth - 1)
    }
  }
  await visit(root, 2)
  return found
}

/** A world may be shared by the packs beside it, and lies no further away: what is in it is laid into boxes. */
async function worldFolder(pack: string, dir: string, named: string): Promise<string> {
  const refuse = (why: string) => new KernelError('invalid', `${pack}: its world folder ${named} ${why}`)
  const world = resolve(dir, named)
  if ((await kindOf(world)) !== 'folder') throw refuse('is not there, or is a link')
  const steps = relative(dirname(await realpath(dir)), await realpath(world)).split(sep)
  if (steps[0] === '' || steps[0] === '..') throw refuse('must lie in the pack or beside it')
  if ((await kindOf(join(world, 'main.ts'))) !== 'file') throw refuse('has no main.ts')
  if ((await kindOf(join(world, 'bin'))) !== 'folder') throw refuse('has no bin/, the commands that reach it')
  return world
}

async function needsOfDocker(
  image: string | undefined,
  environment: string | null,
  workdir: string,
): Promise<Pick<Pack, 'blocked' | 'image' | 'builds'>> {
  const recipes = await Promise.all(
    ['Dockerfile', 'docker-compose.yaml'].map(async (name) =>
      environment === null ? null : kindOf(join(environment, name)),
    ),
  )
  const builds = image === undefined && recipes.some((kind) => kind !== null)
  const own = { image: image ?? null, builds }
  if (image !== undefined || builds) return { ...own, blocked: 'needs Docker: the pack brings an image of its own' }
  if (!localFolders.some((folder) => workdir === folder || workdir.startsWith(`${folder}/`)))
    return { ...own, blocked: `needs Docker: it works in ${workdir}, which local boxes do not have` }
  return { ...own, blocked: null }
}

async function kindOf(path: string): Promise<'file' | 'folder' | 'other' | null> {
  const info = await lstat(path).catch(() => null)
  if (info === null) return null
  return info.isFile() ? 'file' : info.isDirectory() ? 'folder' : 'other'
}

async function readOwn(pack: string, dir: string, name: string, maxBytes: number): Promise<string | null> {
  const path = join(dir, name)
  const info = await lstat(path).catch(() => null)
  if (info === null) return null
  if (!info.isFile()) throw new KernelError('invalid', `${pack}/${name} must be a regular file, not a link or a folder`)
  if (info.size > maxBytes)
    throw new KernelError('invalid', `${pack}/${name} has ${info.size} bytes; at most ${maxBytes} are read`)
  return readFile(path, 'utf8')
}

async function ownFolder(pack: string, dir: string, name: string): Promise<string | null> {
  const kind = await kindOf(join(dir, name))
  if (kind !== null && kind !== 'folder')
    throw new KernelError('invalid', `${pack}/${name} must be a folder, not a link or a file`)
  return kind === null ? null : join(dir, name)
}
