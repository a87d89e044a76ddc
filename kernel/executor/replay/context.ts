import { KernelError } from '../../errors.ts'
import type { History } from '../../history/history.ts'
import type { ContextReplay } from '../../wire/operator-replay.ts'
import type { ReplayRequest } from '../executor.ts'
import {
  briefOf,
  type CapturedRequest,
  type Part,
  type ReplayParts,
  recordedRequest,
  replayMethods,
} from './answers.ts'
import { compare, type Replayed } from './comparison.ts'
import { type ReplayedTask, replayPoints } from './points.ts'
import { ReplayProcess } from './process.ts'

/** A policy that ends or hangs so often is not started again. */
const faultsMost = 2
/** A loop that asks again and again, although every answer says that the turn is over. */
const asksMost = 20

/**
 * Runs both revisions at recorded steps of the agent's latest task, up to their model call, and compares what they would
 * have sent. Nothing of it reaches history, sandbox or model. null: there is no recorded step.
 * @throws KernelError `unavailable` where no box can be had, `cancelled` once the signal aborts.
 */
export async function replayContext(
  parts: ReplayParts,
  { agent, base, candidate, steps, label, signal }: ReplayRequest,
): Promise<ContextReplay | null> {
  const found = await replayPoints(parts.history, agent, steps)
  if (found === null || found.points.length === 0) return null
  const history = remembering(parts.history)
  const own = { ...parts, history }
  const partOf = (revision: string): Part => ({ agent, revision, model: found.model, brief: briefOf(parts, found) })
  const before = await replayRevision(own, partOf(base), found, `${label}-base`, signal)
  const after = await replayRevision(own, partOf(candidate), found, label, signal)
  const recorded = await Promise.all(found.points.map(({ request }) => recordedRequest(own, found.model.api, request)))
  return compare(parts, found, base, { before, after, recorded })
}

async function replayRevision(
  parts: ReplayParts,
  part: Part,
  { task, model, points }: ReplayedTask,
  label: string,
  signal: AbortSignal,
): Promise<Replayed[]> {
  const process = new ReplayProcess(parts, part, label, signal)
  const replayed: Replayed[] = []
  let faults = 0
  try {
    for (const { asOf, at, turn, step } of points) {
      if (faults >= faultsMost) {
        replayed.push({ request: null, error: `not tried: it had failed ${faultsMost} times`, undecided: true })
        continue
      }
      let request: CapturedRequest | null = null
      let asked = 0
      let enough = (): void => {}
      const captured = new Promise<void>((resolve) => {
        enough = resolve
      })
      const moment = { task, asOf, at, step, model: model.name }
      const { methods, refused } = await replayMethods(parts, part, moment, async (given) => {
        request ??= given
        asked += 1
        enough()
        if (asked > asksMost) await process.stop()
        throw new KernelError('cancelled', 'a replay ends at the model call: return from turn.run as yielded')
      })
      const end = await process.turn({ turn, maxSteps: 1, limitMs: parts.timings.replayMs }, methods, captured)
      // The capture may have come in the same moment as the answer.
      const made = request as CapturedRequest | null
      if (made !== null || end === null) replayed.push({ request: made, error: null, undecided: false })
      else if ('error' in end) {
        faults += 1
        replayed.push({ request: null, error: end.error, undecided: refused.length > 0 })
      } else {
        const why = end.reason === undefined ? '' : `: ${end.reason}`
        const error = `its turn ended as ${end.outcome} without asking the model${why}`
        replayed.push({ request: null, error, undecided: refused.length > 0 })
      }
    }
  } finally {
    await process.stop()
  }
  return replayed
}

/** Requests never change: each is looked up once. */
function remembering(history: History): History {
  const known = new Map<number, ReturnType<History['getRequest']>>()
  const own: Partial<History> = {
    getRequest(id) {
      const found = known.get(id) ?? history.getRequest(id)
      known.set(id, found)
      return found
    },
  }
  return Object.assign(Object.create(history) as History, own)
}
