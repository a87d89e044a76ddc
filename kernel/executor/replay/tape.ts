import { KernelError } from '../../errors.ts'
import type { RunOutput } from '../../sandbox/sandbox.ts'
import type { Event } from '../../wire/events.ts'
import type { Json, ModelCallResult } from '../../wire/executor.ts'
import type { TapeReplay } from '../../wire/operator-replay.ts'
import type { ReplayRequest, TaskSandbox } from '../executor.ts'
import { toolOutputs } from '../items.ts'
import { headOf } from '../text.ts'
import {
  briefOf,
  type CapturedRequest,
  type ReplayParts,
  recordedRequest,
  replayMethods,
  toolNames,
} from './answers.ts'
import { ReplayProcess } from './process.ts'
import { readTape, type TapeStep } from './recording.ts'

/**
 * Runs the candidate through a recorded turn: each of its model calls that ends as the recorded one did gets the recorded
 * answer, each command the recorded output. The first that was not recorded so ends it.
 */
export async function replayTape(
  parts: ReplayParts,
  { agent, candidate, label, signal }: Omit<ReplayRequest, 'base' | 'steps'>,
): Promise<TapeReplay | null> {
  const tape = await readTape(parts.history, agent)
  if (tape === null) return null
  const part = { agent, revision: candidate, model: tape.model, brief: briefOf(parts, tape) }
  const report: TapeReplay = {
    ...{ task: tape.task, turn: tape.turn, recorded: tape.steps.length, matched: 0 },
    ...{ divergedAt: null, error: null },
  }
  let enough = (): void => {}
  const diverged = new Promise<void>((resolve) => {
    enough = resolve
  })
  const diverge = (why: string): KernelError => {
    report.divergedAt ??= { call: report.matched + 1, why }
    enough()
    return new KernelError('cancelled', `the tape ends here: ${why}`)
  }
  const answers = new TapeAnswers(diverge)
  const moment = { task: tape.task, model: tape.model.name, step: 0, asOf: 0, at: 0, ...momentOf(tape.steps[0]) }
  const replayed = await replayMethods(
    parts,
    part,
    moment,
    async (request) => {
      const step = tape.steps[report.matched]
      if (step === undefined)
        throw new KernelError('cancelled', 'this turn is used up: return from turn.run as yielded')
      const why = differenceOf(request, await recordedRequest(parts, tape.model.api, step.call.data.request), step)
      if (why !== null) throw diverge(why)
      answers.begin(step)
      report.matched += 1
      Object.assign(moment, momentOf(tape.steps[report.matched] ?? step), { step: step.point.step })
      const items = await Promise.all(step.call.data.output.map(async ({ hash }) => parts.history.getBlob(hash)))
      for (const [index, { hash }] of step.call.data.output.entries())
        replayed.references.add(hash, items[index]?.toString('utf8') ?? 'null')
      return answerOf(
        step.call,
        items.map((bytes) => JSON.parse(bytes.toString('utf8')) as Json),
      )
    },
    { run: (command) => answers.run(command), onRefused: (what) => diverge(`${what} was not recorded`) },
  )
  const methods = {
    ...replayed.methods,
    'task.complete': async () => ({ accepted: tape.outcome === 'completed', message: 'as recorded' }),
  }
  const process = new ReplayProcess(parts, part, label, signal)
  try {
    const limits = { turn: tape.turn, maxSteps: tape.steps.length, limitMs: parts.timings.tapeMs }
    const end = await process.turn(limits, methods, diverged)
    if (report.divergedAt !== null || end === null) return report
    if ('error' in end) report.error = end.error
    else if (end.outcome === 'failed') report.error = `its turn failed: ${end.reason ?? 'no reason'}`
    else if (report.matched < tape.steps.length) diverge(`it ended its turn as ${end.outcome}`)
    return report
  } finally {
    await process.stop()
  }
}

function momentOf(step: TapeStep | undefined) {
  return step === undefined ? {} : { asOf: step.point.asOf, at: step.point.at, step: step.point.step }
}

/** Commands of the step in hand, answered as they once were. */
class TapeAnswers {
  readonly #diverge: (why: string) => KernelError
  #commands: TapeStep['commands'] = []

  constructor(diverge: (why: string) => KernelError) {
    this.#diverge = diverge
  }

  begin(step: TapeStep): void {
    this.#commands = [...step.commands]
  }

  async run({ command, argv }: Parameters<TaskSandbox['run']>[0]): Promise<RunOutput> {
    const what = command ?? argv?.join(' ') ?? ''
    const index = this.#commands.findIndex((recorded) => recorded.what === headOf(what, 2048))
    const [found] = index === -1 ? [] : this.#commands.splice(index, 1)
    if (found === undefined) throw this.#diverge(`the command ${JSON.stringify(headOf(what, 120))} was not recorded`)
    const stdout = Buffer.from(found.output)
    return {
      ...{ exitCode: found.exitCode, signal: null, timedOut: found.timedOut, outOfMemory: false },
      ...{ stdout, stderr: Buffer.alloc(0), stdoutBytes: stdout.length, stderrBytes: 0, durationMs: found.durationMs },
    }
  }
}

/** Why this is not the request that was answered then; null: it is, in its tools and in what it says last. */
function differenceOf(request: CapturedRequest, recorded: CapturedRequest, step: TapeStep): string | null {
  const offered = new Set(toolNames(request))
  const missing = toolNames(recorded).find((name) => !offered.has(name))
  if (missing !== undefined) return `it does not offer the tool ${missing}`
  const count = newItems(recorded, step)
  const [now, then] = [request.items.slice(-count), recorded.items.slice(-count)]
  const differs = then.findIndex(({ hash, json }, index) => {
    const own = now[index]
    if (own === undefined) return true
    if (own.hash === hash) return false
    const [output] = toolOutputs([{ value: JSON.parse(json), json }])
    const [given] = toolOutputs([{ value: JSON.parse(own.json), json: own.json }])
    // What a replayed command gave is worded by the candidate: that it answers the same call is enough.
    return output === undefined || given?.call !== output.call || !step.answeredFromTape.has(output.call)
  })
  return differs === -1
    ? null
    : `what it says last is not what was said then (${differs + 1} of its last ${count} items)`
}

/** Items that the recorded request has after the last answer of the model; at least the last one. */
function newItems({ items }: CapturedRequest, { previousOutput }: TapeStep): number {
  const last = items.findLastIndex(({ hash }) => previousOutput.has(hash))
  return last === -1 ? 1 : Math.max(1, items.length - 1 - last)
}

function answerOf({ seq, data }: Event<'model.called'>, items: Json[]): ModelCallResult {
  const usage = data.usage ?? { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  const status = data.status === 'incomplete' ? ('incomplete' as const) : ('completed' as const)
  const response: ModelCallResult['response'] =
    data.api === 'responses'
      ? { id: `resp_${seq}`, model: data.model, status, output: items }
      : {
          id: `chat_${seq}`,
          model: data.model,
          choices: [
            {
              index: 0,
              message: items[0] ?? { role: 'assistant', content: '' },
              finish_reason: finish(status, items[0]),
            },
          ],
        }
  return { seq, status, response, usage, costNanoUsd: data.costNanoUsd, pendingEvents: 0 }
}

function finish(status: 'completed' | 'incomplete', message: Json | undefined): string {
  if (status === 'incomplete') return 'length'
  return typeof message === 'object' && message !== null && 'tool_calls' in message ? 'tool_calls' : 'stop'
}
