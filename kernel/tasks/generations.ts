import { KernelError } from '../errors.ts'
import type { Executors, Generation, TaskContext } from '../executor/executor.ts'
import type { Guardian } from '../guardian/guardian.ts'
import type { ProviderName, ProviderReport } from '../sandbox/sandbox.ts'

/** What a run does next about its executor. */
export type Next =
  | { kind: 'run'; generation: Generation }
  /** Look again after this many ms: the active revision may be another by then. */
  | { kind: 'again'; delayMs: number }
  | { kind: 'give-up'; reason: string }
  | { kind: 'safe-mode'; reason: string }

interface Parts {
  guardian: Guardian
  executors: Executors
}

/**
 * Starts the active revision; where it does not come up, the guardian decides what follows.
 * @throws KernelError `cancelled` (the signal), and what no revision is to blame for.
 */
export async function startActive(
  { guardian, executors }: Parts,
  agent: string,
  run: 'task' | 'trial',
  task: TaskContext,
  signal: AbortSignal,
): Promise<Next> {
  const safe = guardian.safeMode(agent)
  if (safe !== null) return { kind: 'safe-mode', reason: safe.reason }
  const active = await guardian.active(agent)
  if (active === null) throw new KernelError('internal', `agent ${agent} has no active revision`)
  try {
    return { kind: 'run', generation: await executors.start({ agent, run, ...active, task, signal }) }
  } catch (error) {
    if (!(error instanceof KernelError) || error.code !== 'unavailable' || error.details?.stage === undefined)
      throw error
    const kind = error.details.timedOut === true ? 'hang' : 'crash'
    return decide(guardian, agent, { task: task.task, ...active, kind, detail: error.message })
  }
}

/** The generation has ended in the middle of a turn: on purpose, or the guardian decides what follows. */
export async function afterEnd(
  { guardian }: Parts,
  agent: string,
  task: string,
  generation: Generation,
): Promise<Next> {
  const end = await generation.ended
  if (end.kind === 'stopped') return { kind: 'again', delayMs: 0 }
  const { activation, revision } = generation
  if (end.kind === 'hung') {
    const detail = `${end.watchdog} watchdog after ${end.afterMs} ms`
    return decide(guardian, agent, { task, activation, revision, kind: 'hang', detail })
  }
  const how = end.outOfMemory ? 'out of memory' : `exit code ${end.exitCode ?? end.signal}`
  const detail = `${how}: ${end.stderr.trim().slice(-500)}`
  return decide(guardian, agent, { task, activation, revision, kind: 'crash', detail })
}

/** Its turns failed again and again, for no reason of the model's. */
export function afterFailedTurns(
  { guardian }: Parts,
  agent: string,
  task: string,
  { activation, revision }: Generation,
  detail: string,
): Promise<Next> {
  return decide(guardian, agent, { task, activation, revision, kind: 'failed-turns', detail })
}

async function decide(
  guardian: Guardian,
  agent: string,
  failure: Parameters<Guardian['generationFailed']>[1],
): Promise<Next> {
  const decision = await guardian.generationFailed(agent, failure)
  switch (decision.action) {
    case 'give-up':
    case 'safe-mode':
      return { kind: decision.action, reason: decision.reason }
    case 'restart':
    case 'replaced':
      return { kind: 'again', delayMs: decision.delayMs }
  }
}

/** Resolves with the promise, at the latest after `ms`. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}

/**
 * The report of the provider that was asked for, else of the first that can be had.
 * @throws KernelError `unavailable`, with the reason and the one command that mends it.
 */
export function requireBox(reports: readonly ProviderReport[], asked?: ProviderName): ProviderReport {
  const report =
    asked === undefined
      ? (reports.find(({ available }) => available) ?? reports.at(-1))
      : reports.find(({ name }) => name === asked)
  if (report?.available) return report
  const reason = report === undefined ? 'this host knows of none' : (report.reason ?? report.detail)
  const fix = report?.fix === undefined ? '' : `. To mend it: ${report.fix}`
  const others = reports.filter(({ name, available }) => available && name !== asked).map(({ name }) => name)
  const instead = others.length === 0 ? '' : `. This host can run tasks in ${others.join(' or ')} boxes`
  throw new KernelError(
    'unavailable',
    `no ${asked === undefined ? '' : `${asked} `}sandbox can be had: ${reason}${fix}${instead}`,
  )
}
