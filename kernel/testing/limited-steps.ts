import { draft } from '../wire/events.ts'
import { agent, modelCalled, type TestGuardian } from './guardian.ts'

export interface StepOptions {
  task?: string
  costNanoUsd?: number | null
  uncached?: number
  cacheRead?: number
  /** Of two tool calls. */
  failures?: number
  /** Measured progress by its end. */
  progress?: number
  /** It wrote to /policy. */
  isPolicyWork?: boolean
}

let number = 0

/** One completed step of the active revision with figures as given, which the guardian has judged when this resolves. */
export async function limitedStep(test: TestGuardian, options: StepOptions = {}): Promise<void> {
  const { task = 'T-1', costNanoUsd = 1_000_000, uncached = 200, cacheRead = 800, failures = 0 } = options
  const { revision = '' } = (await test.guardian.active(agent)) ?? {}
  number += 1
  const call = modelCalled(task, revision)
  const header = { ...call, turn: 1, step: number }
  const { kind: _kind, data: _data, ...place } = header
  const usage = { uncached, cacheRead, cacheWrite: 0, output: 10, reasoning: 0 }
  const tools = [0, 1].flatMap((index) => {
    const name = 'shell'
    const id = `c-${number}-${index}`
    const given = options.isPolicyWork === true ? 'sed -i s/a/b/ /policy/loop.ts' : 'ls'
    const outcome = index < failures ? ('error' as const) : ('ok' as const)
    return [
      draft('tool.called', { call: id, name, arguments: given, request: 1 }, place),
      draft('tool.finished', { call: id, name, outcome, output: '', outputBytes: 0, durationMs: 1 }, place),
    ]
  })
  const { progress } = options
  const measured = { value: progress ?? 0, goal: null, unit: 'gold', source: 'measured' as const }
  await test.history.append([
    { ...header, data: { ...call.data, usage, usageSource: 'reported' as const, costNanoUsd, costReason: null } },
    ...tools,
    ...(progress === undefined ? [] : [draft('task.progressed', measured, place)]),
  ])
  await test.guardian.settled(agent)
}

export async function limitedSteps(test: TestGuardian, count: number, options: StepOptions = {}): Promise<void> {
  for (let n = 0; n < count; n += 1) await limitedStep(test, options)
}
