import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BoxSpec, SandboxProvider, TaskPlace } from '../sandbox/sandbox.ts'
import { addTests, type TaskFolders } from './folders.ts'
import type { Pack } from './pack.ts'

export interface Grade {
  /** null: the grader gave none, and `error` says why. Never 0 for a missing one. */
  reward: number | null
  details: { exitCode: number | null; output: string }
  error: string | null
}

/** The kernel's own: an agent cannot name one so. */
const finalState = '.final'

/** A grade that cannot be had says why, and keeps no task from ending. `save` gives the world's whole state. */
export async function gradeFinal(
  provider: SandboxProvider,
  pack: Pack,
  folders: TaskFolders,
  place: TaskPlace,
  save: () => Promise<string | null>,
  signal: AbortSignal,
): Promise<Grade | null> {
  try {
    // Nothing of the agent's goes on while its work is measured.
    await provider.killAll(place.label)
    return await grade(provider, pack, folders, place, await save(), signal)
  } catch (error) {
    const why = signal.aborted ? 'the app was closed while the grader ran' : (error as Error).message
    return { reward: null, details: { exitCode: null, output: '' }, error: why }
  }
}

/**
 * Runs the pack's tests in a fresh box on a copy of the final state, the tests added after. `world` is the measured state of
 * the world, put beside the tests. Call it only when no box of the task runs. Null: the pack has no grader.
 * @throws KernelError `cancelled` (the signal), `unavailable` (no box), `invalid` (more than can be graded).
 */
export async function grade(
  provider: SandboxProvider,
  pack: Pack,
  folders: TaskFolders,
  place: TaskPlace,
  world: string | null,
  signal?: AbortSignal,
): Promise<Grade | null> {
  if (pack.tests === null) return null
  try {
    const mounts = await addTests(folders, pack.tests, world)
    await provider.snapshot(place, finalState)
    const { sandbox } = place
    const box = { label: `${place.label}.verifier`, mounts, state: { place, snapshot: finalState } }
    return await gradeIn(provider, pack, sandbox === undefined ? box : { ...box, sandbox }, mounts.logs, signal)
  } finally {
    // What cannot be cleared away is no fault of the grade.
    await provider.forget(place, finalState).catch(() => {})
    await rm(folders.grading, { recursive: true, force: true }).catch(() => {})
  }
}

async function gradeIn(
  provider: SandboxProvider,
  pack: Pack,
  box: Pick<BoxSpec, 'sandbox' | 'label' | 'mounts' | 'state'>,
  logs: string,
  signal?: AbortSignal,
): Promise<Grade> {
  const run = await provider.run(
    {
      ...box,
      profile: 'verifier',
      argv: ['/bin/bash', '/tests/test.sh'],
      cwd: pack.workdir,
      timeoutMs: pack.verifierTimeoutMs,
    },
    { outputBytes: 16_384, ...(signal === undefined ? {} : { signal }) },
  )
  const details = {
    exitCode: run.exitCode,
    output: (run.stdout.toString('utf8') + run.stderr.toString('utf8')).slice(-4000),
  }
  if (run.timedOut)
    return { reward: null, details, error: `the grader took longer than ${pack.verifierTimeoutMs / 1000} s` }
  const reward = await readReward(logs)
  return typeof reward === 'number' ? { reward, details, error: null } : { reward: null, details, error: reward }
}

async function readReward(logs: string): Promise<number | string> {
  const text = await readSmall(join(logs, 'reward.txt'))
  if (text !== null) {
    const reward = Number(text.trim())
    return text.trim() !== '' && Number.isFinite(reward) ? reward : `reward.txt is not a number: ${text.slice(0, 80)}`
  }
  const json = await readSmall(join(logs, 'reward.json'))
  if (json === null) return 'the grader wrote neither reward.txt nor reward.json'
  let parsed: unknown
  try {
    parsed = JSON.parse(json)
  } catch {
    return 'reward.json is not JSON'
  }
  const given = typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  if ('reward' in given && typeof given.reward === 'number') return given.reward
  const values = Object.values(given).filter((value) => typeof value === 'number')
  return values.length > 0
    ? values.reduce((sum, value) => sum + value, 0) / values.length
    : 'reward.json holds no number'
}

/** A regular file of at most 64 KiB, else null. Written beside the agent's final state: a link or a pipe in its place is not followed. */
async function readSmall(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const info = await file.stat()
    return info.isFile() && info.size <= 65_536 ? await file.readFile('utf8') : null
  } finally {
    await file.close()
  }
}
