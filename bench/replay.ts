import { join } from 'node:path'
import { createRouterClient, type RouterClient } from '@orpc/server'
import { type Kernel, openKernel } from '../kernel/kernel.ts'
import { readSeed } from '../kernel/resources.ts'
import { startSimulator, testConfig } from '../kernel/testing/kernel.ts'
import type { Event } from '../kernel/wire/events.ts'
import { type ContextReplay, contextReplaySchema } from '../kernel/wire/operator-replay.ts'
import { atMost, type Bench, type Row, told } from './row.ts'

const root = join(import.meta.dirname, '..')
const pack = join(root, 'tasks/hollowmere/skills')
/** Steps of the novice before its policy is edited. */
const stepsBefore = 40
const mostPercent = 5

/**
 * What the context replay of a proposal predicts for the steps that come next, beside what the provider then metered for
 * them: for the apprentice's own edit, for one that changes what is kept in the context, and for one that changes nothing.
 */
export const bench: Bench = async function* ({ folder }) {
  const simulator = startSimulator()
  const config = testConfig(join(folder, 'data'), simulator)
  const kernel = await openKernel({
    ...config,
    resources: { ...config.resources, packsRoot: root, packs: join(root, 'tasks') },
  })
  const seed = await readSeed(join(root, 'executor-seed'))
  const edited = (path: string, from: string, to: string) => {
    const file = seed.find((one) => one.path === path)
    if (!file?.text.includes(from)) throw new Error(`${path} of the starting policy has no ${from}`)
    return seed.map((one) => (one === file ? { path, text: one.text.replace(from, to) } : one))
  }
  try {
    yield* rows('the apprentice’s own tool', await ownEdit(kernel, 'learner'))
    const short = edited(
      'context.ts',
      'items.push(step === last ? item : { ref: hash(item) })',
      "items.push(step === last || typeof item.output !== 'string' ? item : { ...item, output: item.output.slice(0, 60) })",
    )
    yield* rows('old results cut to 60 characters', await submitted(kernel, 'shortener', short))
    const window = edited('context.ts', 'of this.#steps.slice(0, steps)', 'of this.#steps.slice(0, steps).slice(-12)')
    yield* rows('only the last 12 steps kept', await submitted(kernel, 'forgetter', window))
    yield* rows(
      'a note, which changes nothing',
      await submitted(kernel, 'control', [...seed, { path: 'notes.md', text: '# Notes\n' }]),
    )
  } finally {
    await kernel.close()
    simulator.stop()
  }
}

interface Outcome {
  replay: ContextReplay
  checkMs: number
  actual: { inputTokensPerStep: number; cachedShare: number; steps: number }
}

function* rows(what: string, { replay, checkMs, actual }: Outcome): Generator<Row> {
  const predicted = replay.after.inputTokensPerStepAhead ?? Number.NaN
  const error = (100 * Math.abs(predicted - actual.inputTokensPerStep)) / actual.inputTokensPerStep
  const pair = { what: `metered over ${actual.steps} steps`, value: actual.inputTokensPerStep }
  yield told(`replay: ${what}: predicted`, { value: predicted, unit: 'tokens/step' }, pair)
  yield atMost(`replay: ${what}: error`, { value: error, unit: '%' }, mostPercent)
  const share = { what: 'metered', value: 100 * actual.cachedShare }
  yield told(`replay: ${what}: cached`, { value: 100 * (replay.after.cachedShare ?? Number.NaN), unit: '%' }, share)
  const { equal, compared } = replay.fidelity
  yield told(
    `replay: ${what}: recorded requests met`,
    { value: equal, unit: 'requests' },
    { what: 'compared', value: compared },
  )
  yield told(`replay: ${what}: took`, { value: checkMs / 1000, unit: 's' })
}

/** The apprentice plays until it proposes a tool of its own. */
async function ownEdit(kernel: Kernel, agent: string): Promise<Outcome> {
  const { task } = await kernel.tasks.run({ pack, agent, model: 'sim-apprentice', seed: 7 })
  await until(kernel, agent, ({ kind }) => kind === 'proposal.made')
  await kernel.tasks.pause(task, 'operator', 'to look at the proposal')
  return activate(kernel, agent, task)
}

/** The novice plays, and a person proposes. */
async function submitted(kernel: Kernel, agent: string, tree: { path: string; text: string }[]): Promise<Outcome> {
  const { task } = await kernel.tasks.run({ pack, agent, model: 'sim-novice', seed: 7 })
  await until(kernel, agent, ({ kind, step }) => kind === 'model.called' && (step ?? 0) >= stepsBefore)
  await kernel.tasks.pause(task, 'operator', 'to edit its policy')
  await until(kernel, agent, ({ kind }) => kind === 'task.paused')
  await operator(kernel).proposals.submit({ agent, tree, why: 'to measure what is predicted' })
  return activate(kernel, agent, task)
}

async function activate(kernel: Kernel, agent: string, task: string): Promise<Outcome> {
  const made = await until(kernel, agent, ({ kind }) => kind === 'proposal.made')
  const over = await until(kernel, agent, (event) => event.seq > made.seq && isDecided(event))
  const checks = await kernel.history.read({ agent }, { kinds: ['proposal.checked'], after: made.seq })
  const results = checks.events.flatMap((event) => (event.kind === 'proposal.checked' ? [event.data] : []))
  const replay = results.find(({ check }) => check === 'context-replay')
  if (over.kind !== 'proposal.readied' || replay === undefined)
    throw new Error(
      `${agent}: ${results.map(({ check, verdict, summary }) => `${check} ${verdict}: ${summary}`).join('\n')}`,
    )
  const details = contextReplaySchema.parse(replay.details)
  const { proposals } = operator(kernel)
  const { nonce, binding } = await proposals.view({ agent, proposal: 'P-1' })
  const overrides = results.flatMap(({ check, verdict, gates }) =>
    gates && verdict === 'unresolved' ? [{ check, reason: 'a measurement' }] : [],
  )
  await until(kernel, agent, ({ kind }) => kind === 'task.paused')
  await proposals.approve({
    agent,
    proposal: 'P-1',
    nonce,
    binding,
    reason: 'a measurement',
    ...(overrides.length > 0 && { overrides }),
  })
  const activated = await until(
    kernel,
    agent,
    ({ kind, data }) => kind === 'revision.activated' && 'proposal' in data && data.proposal === 'P-1',
  )
  await kernel.tasks.resume(task)
  const actual = await metered(kernel, agent, activated.seq, details.ahead)
  await kernel.tasks.stop(task)
  await kernel.tasks.ended(task)
  return { replay: details, checkMs: replay.durationMs, actual }
}

async function metered(kernel: Kernel, agent: string, after: number, steps: number): Promise<Outcome['actual']> {
  let [input, cached, count] = [0, 0, 0]
  const stop = new AbortController()
  for await (const batch of kernel.history.follow({ agent }, { after, signal: stop.signal })) {
    for (const event of batch) {
      if (event.kind === 'task.finished' && count > 0) stop.abort()
      if (event.kind !== 'model.called' || event.data.usage === null || count === steps) continue
      const { uncached, cacheRead, cacheWrite } = event.data.usage
      input += uncached + cacheRead + cacheWrite
      cached += cacheRead
      count += 1
      if (count === steps) stop.abort()
    }
  }
  return { inputTokensPerStep: input / count, cachedShare: cached / input, steps: count }
}

function isDecided({ kind, data }: Event): boolean {
  return kind === 'proposal.readied' || (kind === 'proposal.checked' && data.verdict === 'fail' && data.gates !== false)
}

/** The first event of this agent for which it holds. */
async function until(kernel: Kernel, agent: string, holds: (event: Event) => boolean): Promise<Event> {
  const stop = new AbortController()
  for await (const batch of kernel.history.follow({ agent }, { after: 0, signal: stop.signal })) {
    const found = batch.find(holds)
    if (found === undefined) continue
    stop.abort()
    return found
  }
  throw new Error('history ended before')
}

function operator(kernel: Kernel): RouterClient<Kernel['operator']> {
  return createRouterClient(kernel.operator, { context: { via: 'socket' as const } })
}
