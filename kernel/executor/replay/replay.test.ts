import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readSeed } from '../../resources.ts'
import type { TreeFile } from '../../sandbox/sandbox.ts'
import { asks, openTestExecutors, type TestExecutors, testModel } from '../../testing/executors.ts'
import { draft } from '../../wire/events.ts'
import { contextReplaySchema, tapeReplaySchema } from '../../wire/operator-replay.ts'

const seed = await readSeed(join(import.meta.dirname, '../../../executor-seed'))
const commands = 9
const agent = 'apprentice'
const noUsage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

let test: TestExecutors
afterEach(() => test.close())

/** The starting policy with one text in one of its files replaced. */
function edited(path: string, from: string, to: string): TreeFile[] {
  const tree = seed.map((file) => (file.path === path ? { path, text: file.text.replace(from, to) } : file))
  if (tree.every(({ text }, index) => text === seed[index]?.text)) throw new Error(`${path} has no ${from}`)
  return tree
}

/** A task in which the starting policy has worked: one command a step, the turn after `stepsPerTurn` of them. */
async function worked(stepsPerTurn = commands): Promise<{ base: string }> {
  test = await openTestExecutors({
    model: ({ body }, nth) => ({
      ...asks([`call-${nth}`, 'shell', { command: `seq ${nth} ${nth * 60}` }]),
      usage: { ...noUsage, uncached: Math.ceil(JSON.stringify(body).length / 3), output: 20 },
    }),
    timings: { replayMs: 4000, tapeMs: 8000, cancelMs: 500 },
  })
  const limits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
  const created = {
    ...{
      title: 'work',
      pack: null,
      instruction: 'Work.',
      model: testModel,
      sandbox: 'local' as const,
      limits,
      goal: null,
      seed: 0,
    },
    ...{ propose: true, approve: 'none' as const, workdir: '/task' },
  } as const
  await test.open.history.append([draft('task.created', created, { actor: 'operator', agent, task: 'T-1' })])
  const generation = await test.start(seed)
  for (let turn = 1; (turn - 1) * stepsPerTurn < commands; turn += 1)
    await generation.runTurn({ turn, maxSteps: stepsPerTurn, maxMs: 60_000 })
  await generation.stop('enough')
  return { base: generation.revision }
}

async function context(base: string, candidate: TreeFile[], steps = 6) {
  const signal = new AbortController().signal
  return test.replays.context({ ...{ agent, base, steps, signal, label: 'r' }, candidate: await test.put(candidate) })
}

describe('the context replay', () => {
  it('sends for the base, item for item, what was recorded, and leaves no trace', async () => {
    const { base } = await worked(3)
    const before = await test.kinds()
    const replay = await context(base, seed)
    expect(replay).toMatchObject({ estimated: true, exceptions: [], prefixBreak: null, task: 'T-1' })
    expect(replay?.fidelity).toMatchObject({ compared: 5, equal: 5, firstDifference: null })
    expect(replay?.steps.map(({ step }) => step)).toEqual([1, 2, 7, 8, 9])
    expect(replay?.after).toEqual(replay?.before)
    expect(replay?.offered?.after).toEqual(expect.arrayContaining(['complete', 'propose', 'shell']))
    const totals = replay?.steps.map(({ before: { tokens } }) => tokens?.total ?? 0) ?? []
    expect(totals).toEqual([...totals].sort((a, b) => a - b))
    expect(replay?.before.cachedShare).toBeGreaterThan(0.3)
    expect(await test.kinds()).toEqual(before)
  }, 60_000)

  it('finds where the cache is lost, once or at every step, and what that costs', async () => {
    const { base } = await worked()
    const once = await context(base, edited('instructions.ts', 'You work alone', 'You work quite alone'))
    expect(once?.prefixBreak).toMatchObject({ at: 'activation', kind: 'instructions', index: 0 })
    expect(once?.prefixBreak?.rewarmTokens).toBeGreaterThan(500)
    expect(once?.after.cachedShare).toBeCloseTo(once?.before.cachedShare ?? 0, 1)

    const dated = 'if (task.propose) return Math.random() + WORK\n  return task.propose ?'
    const always = await context(base, edited('instructions.ts', 'return task.propose ?', dated))
    expect(always?.prefixBreak).toMatchObject({ at: 'every step', kind: 'instructions', index: 0 })
    expect(always?.after.cachedShare).toBe(0)
    expect(always?.after.costNanoUsdPerStep).toBeGreaterThan((always?.before.costNanoUsdPerStep ?? 0) * 1.3)
  }, 60_000)

  it('shows a context policy that keeps old results short: fewer tokens, a slower growth, a break near the end', async () => {
    const { base } = await worked()
    const short = await context(base, shortResults())
    expect(short?.exceptions).toEqual([])
    expect(short?.after.inputTokensPerStep).toBeLessThan((short?.before.inputTokensPerStep ?? 0) * 0.8)
    expect(short?.after.inputTokensPerStepAhead).toBeLessThan(short?.before.inputTokensPerStepAhead ?? 0)
    expect(short?.prefixBreak).toMatchObject({ at: 'every step', kind: 'item' })
  }, 60_000)

  it('tells which tools the requests offer, whatever is registered', async () => {
    const { base } = await worked()
    const fewer = await context(
      base,
      edited(
        'loop.ts',
        'tools: offered(task.propose)',
        "tools: offered(task.propose).filter(({ name }) => name !== 'jobs')",
      ),
      2,
    )
    expect(fewer?.offered?.before).toContain('jobs')
    expect(fewer?.offered?.after).toEqual(fewer?.offered?.before.filter((name) => name !== 'jobs'))
  }, 60_000)

  it('catches what throws only once there is a past, at the steps where it does', async () => {
    const { base } = await worked()
    const late = "if (context.steps > 7) throw new Error('too much to remember')\n  const budget = new Budget(kernel)"
    const replay = await context(base, edited('loop.ts', 'const budget = new Budget(kernel)', late))
    const failed = replay?.exceptions.map(({ step, side }) => [step, side])
    expect(failed).toEqual([
      [8, 'after'],
      [9, 'after'],
    ])
    expect(replay?.exceptions[0]).toMatchObject({ error: 'its turn threw: too much to remember', undecided: false })
    expect(replay?.steps[0]?.after.error).toBeNull()
  }, 60_000)

  it('ends a policy that hangs, and does not wait for it at every step', async () => {
    const { base } = await worked()
    const loop = 'while (context.steps > 3);\n  const budget = new Budget(kernel)'
    const replay = await context(base, edited('loop.ts', 'const budget = new Budget(kernel)', loop))
    expect(replay?.exceptions.map(({ error }) => error)).toEqual([
      expect.stringContaining('did not ask the model within 4 s'),
      expect.stringContaining('did not ask the model within 4 s'),
      expect.stringContaining('not tried'),
    ])
  }, 60_000)

  it('decides nothing of a policy that must look into the sandbox, and refuses what a real call would', async () => {
    const { base } = await worked()
    const looks = "await kernel.exec('cat notes.md')\n  const budget = new Budget(kernel)"
    const looking = await context(base, edited('loop.ts', 'const budget = new Budget(kernel)', looks))
    expect(looking?.exceptions.length).toBe(5)
    expect(looking?.exceptions.every(({ undecided }) => undecided)).toBe(true)

    const foreign = edited('context.ts', '{ ref: hash(item) }', "{ ref: hash(message('never sent')) }")
    const wrong = await context(base, foreign)
    expect(wrong?.exceptions[0]).toMatchObject({ side: 'after', undecided: false })
    expect(wrong?.exceptions[0]?.error).toContain('is no item of an earlier request')
  }, 60_000)

  it('has nothing to say of an agent that has made no step, and fits its schema', async () => {
    const { base } = await worked()
    const signal = new AbortController().signal
    const request = { agent: 'another', base, candidate: base, steps: 6, signal, label: 'r' }
    expect(await test.replays.context(request)).toBeNull()
    const replay = await context(base, seed)
    expect(contextReplaySchema.parse(JSON.parse(JSON.stringify(replay)))).toEqual(replay)
  }, 60_000)
})

describe('the tape replay', () => {
  const tape = async (candidate: TreeFile[]) =>
    test.replays.tape({ agent, candidate: await test.put(candidate), label: 't', signal: new AbortController().signal })

  it('takes a policy that works as before through the whole recorded turn', async () => {
    await worked(3)
    const before = await test.kinds()
    const replay = await tape(edited('instructions.ts', 'You work alone', 'You work quite alone'))
    expect(replay).toEqual({ task: 'T-1', turn: 3, recorded: 3, matched: 3, divergedAt: null, error: null })
    expect(tapeReplaySchema.parse(replay)).toEqual(replay)
    expect(await test.kinds()).toEqual(before)
  }, 60_000)

  it('ends at the first request that was not recorded so', async () => {
    await worked(3)
    const other = await tape(
      edited('tools/shell.ts', 'return kernel.exec(command,', "return kernel.exec('nice ' + command,"),
    )
    expect(other).toMatchObject({
      matched: 1,
      error: null,
      divergedAt: { call: 2, why: expect.stringContaining('nice seq') },
    })
    const without = await tape(edited('tools/index.ts', "export { tool as shell } from './shell.ts'", ''))
    expect(without?.divergedAt).toEqual({ call: 1, why: 'it does not offer the tool shell' })
  }, 60_000)

  it('tells of a policy that throws on the way', async () => {
    await worked(3)
    const replay = await tape(
      edited('loop.ts', 'steps += 1\n', "steps += 1\n      if (steps === 2) throw new Error('enough')\n"),
    )
    expect(replay).toMatchObject({ matched: 2, divergedAt: null, error: expect.stringContaining('enough') })
  }, 60_000)
})

/** The starting policy, whose results but the last are cut to their first 80 characters. */
function shortResults(): TreeFile[] {
  return edited(
    'context.ts',
    'items.push(step === last ? item : { ref: hash(item) })',
    "items.push(step === last || typeof item.output !== 'string' ? item : { ...item, output: item.output.slice(0, 80) })",
  )
}
