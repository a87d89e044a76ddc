import type { EventRow, TaskSummary } from '../../kernel/wire/operator.ts'
import { hint } from '../command-name.ts'
import { Ended, type ExitCode, exitCode } from './command.ts'
import type { OpenDesk } from './desk.ts'
import { type RunResult, resultLines, runResult } from './outcome.ts'
import { Progress } from './progress.ts'
import { note, say, sayJson } from './text.ts'

export interface Followed {
  task: string
  agent: string
  /** `seq` of task.created: what the result counts from. */
  seq: number
  /** Events after this one are shown; absent: all of the task. */
  showAfter?: number
  json: boolean
  /** As given with --data; for the sentence that says how to go on. */
  dataDir: string | undefined
}

/** States in which nothing will happen any more by itself. */
const still = ['finished', 'paused', 'interrupted']
const pollMs = 100
const leftPollMs = 1_000

/**
 * Shows a task's progress until it has ended or the user interrupts: Ctrl-C once pauses it and keeps it, twice stops it;
 * SIGTERM leaves it as it is.
 */
export async function followTask(open: OpenDesk, followed: Followed): Promise<ExitCode> {
  const { desk } = open
  const { task, agent, json } = followed
  const shown = json ? note : say
  const ending = new AbortController()
  const interrupts = watchInterrupts(open, task, ending)
  try {
    await Promise.race([
      showUntilFinished(open, followed, shown, ending.signal),
      untilLeft(desk, task, ending.signal),
      open.lost.then(() => {
        throw new Ended(
          exitCode.cannotRun,
          `the host that runs ${task} has gone; ${task} goes on when it is started again`,
        )
      }),
    ])
    // The event comes before the state that it leads to.
    const last = (await untilStill(desk, task, ending.signal)) ?? (await desk.tasks.get({ task }))
    const result = await runResult(desk, last, followed.seq)
    if (json) sayJson(result)
    else for (const line of resultLines(result, last)) say(line)
    const data = followed.dataDir === undefined ? '' : ` --data ${followed.dataDir}`
    if (last.outcome === null) note(hint(`${task} is kept. Go on with: exodesk resume ${task}${data}`))
    const isWaiting = result.proposals.made > 0 && (await desk.proposals.list({ agent, waiting: true })).length > 0
    if (isWaiting) note(hint(`A proposal waits for a verdict: exodesk proposals --agent ${agent}${data}`))
    return codeOf(result.outcome)
  } finally {
    ending.abort()
    interrupts.end()
  }
}

function codeOf(outcome: RunResult['outcome']): ExitCode {
  return outcome === 'completed' || outcome === 'claimed' ? exitCode.done : exitCode.doesNotHold
}

async function showUntilFinished(
  { desk }: OpenDesk,
  { task, agent, seq, showAfter }: Followed,
  show: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const from = showAfter === undefined ? undefined : await desk.tasks.get({ task })
  const progress = new Progress(agent, () => performance.now(), from)
  // The agent's, not the task's alone: verdicts and activations belong to the agent, and it has one running task.
  const events = await desk.events.follow({ after: showAfter ?? seq, agent }, { signal })
  try {
    for await (const batch of events) {
      for (const event of batch) {
        if (event.task !== null && event.task !== task) continue
        const line = progress.line(event)
        if (line !== null) show(line)
        if (event.task === task && isOver(event)) return
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/**
 * It has finished, or the kernel keeps it paused for something that only the operator can mend: a script must not wait for
 * that. An endpoint and a budget are waited for, as the kernel does.
 */
export function isOver({ kind, data }: Pick<EventRow, 'kind' | 'data'>): boolean {
  if (kind === 'task.finished') return true
  if (kind !== 'task.paused' || data.by !== 'kernel' || data.cause === undefined) return false
  return data.cause !== 'endpoint' && data.cause !== 'budget'
}

/** A task that could not be opened (no box, no endpoint) is left for a later start: no event says so. */
async function untilLeft(desk: OpenDesk['desk'], task: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { state, reason } = await desk.tasks.get({ task })
    if (state === 'interrupted' && !signal.aborted)
      throw new Ended(exitCode.cannotRun, `${task} cannot go on here: ${reason ?? 'no reason given'}`)
    await new Promise((resolve) => setTimeout(resolve, leftPollMs))
  }
}

function watchInterrupts({ desk }: OpenDesk, task: string, ending: AbortController): { end(): void } {
  let count = 0
  const interrupt = () => {
    count += 1
    if (count === 1) {
      note(`\nPausing ${task} at its next safe point, and keeping it. Ctrl-C again stops it.`)
      void attempt(desk.tasks.pause({ task })).then(() => settle(desk, task, ending))
    } else if (count === 2) {
      note(`\nStopping ${task}.`)
      void attempt(desk.tasks.stop({ task })).then(() => settle(desk, task, ending))
    } else process.exit(130)
  }
  const leave = () => ending.abort()
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', leave)
  return {
    end() {
      process.off('SIGINT', interrupt)
      process.off('SIGTERM', leave)
    },
  }
}

/** A task that is still starting cannot be paused: it is then left as it is, and goes on at the next start. */
async function attempt(asked: Promise<unknown>): Promise<void> {
  await asked.catch((error: Error) => note(error.message))
}

async function settle(desk: OpenDesk['desk'], task: string, ending: AbortController): Promise<void> {
  try {
    await untilStill(desk, task, ending.signal)
  } catch (error) {
    note((error as Error).message)
  }
  ending.abort()
}

/** Resolves once the task neither runs nor is about to. */
export async function untilStill(
  desk: OpenDesk['desk'],
  task: string,
  signal?: AbortSignal,
): Promise<TaskSummary | null> {
  for (;;) {
    const now = await desk.tasks.get({ task })
    if (still.includes(now.state) || now.state === 'starting') return now
    if (signal?.aborted === true) return null
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
