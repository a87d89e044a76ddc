// The hand-over from generation to generation, whatever state the task is in.
import { afterEach, describe, expect, it } from 'vitest'
import type { Generation } from '../executor/executor.ts'
import { openRunBench, type RunBench, revision, ScriptedGeneration, untilAsked, yielded } from '../testing/run.ts'

let bench: RunBench
const rejections: unknown[] = []
process.on('unhandledRejection', (reason) => rejections.push(reason))
afterEach(async () => {
  await bench.close()
  expect(rejections).toEqual([])
})

const stateOf = async (task = 'T-1') => (await bench.tasks.get(task)).state
const untilState = (state: string) => expect.poll(() => stateOf(), { interval: 5 }).toBe(state)

async function working(): Promise<void> {
  bench = await openRunBench(untilAsked)
  await bench.run()
  await bench.until('note.added')
}

describe('a hand-over', () => {
  async function next(): Promise<Generation> {
    if (bench.target === null) throw new Error('no task runs')
    const spec = { agent: 'a', run: 'task', revision, activation: 2, task: bench.target.context() } as const
    let turn = 100
    const made = new ScriptedGeneration(bench, spec, 99, () => {
      turn += 1
      return turn
    })
    return made
  }

  it('comes at the end of the step; the old one stops and the new one goes on', async () => {
    await working()
    const made = await next()
    const committed: string[] = []
    await bench.target?.swap(
      made,
      async () => void committed.push((await bench.events(['turn.ended'])).length.toString()),
    )
    expect(committed).toEqual(['1'])
    await bench.until('note.added', 2)
    expect(bench.generations[0]?.stopped).toBe('replaced by r2')
    expect((await bench.events(['note.added'])).map(({ generation }) => generation)).toEqual([1, 99])
  })

  it('that cannot be committed leaves the old one at work, and nobody is left waiting', async () => {
    await working()
    const refused = bench.target?.swap(await next(), () => Promise.reject(new Error('another is active')))
    await expect(refused).rejects.toThrow('another is active')
    await bench.until('note.added', 2)
    expect((await bench.events(['note.added'])).map(({ generation }) => generation)).toEqual([1, 1])
    expect(await stateOf()).toBe('running')
  })

  it.each(['paused', 'waiting'])('to a task that is %s starts nothing', async (state) => {
    bench = await openRunBench(async (turn) => {
      await turn.step()
      if (state === 'waiting') await turn.task.ask('which way?')
      else await turn.asked
      return yielded()
    })
    await bench.run()
    await bench.until('note.added')
    if (state === 'paused') await bench.tasks.pause('T-1', 'operator', 'a moment')
    await untilState(state)
    const made = (await next()) as Generation & { stopped: string | null }
    let isCommitted = false
    await bench.target?.swap(made, async () => {
      isCommitted = true
    })
    await expect.poll(() => made.stopped, { interval: 5 }).toBe('at rest')
    expect([isCommitted, await stateOf()]).toEqual([true, state])
  })

  it('is refused once the task ends, and told so when the end overtakes it', async () => {
    await working()
    const { target } = bench
    const stopping = bench.tasks.stop('T-1')
    await expect(target?.swap(await next(), async () => {})).rejects.toMatchObject({ code: 'conflict' })
    await stopping
    await bench.tasks.ended('T-1')
    await expect(target?.swap(await next().catch(() => ({}) as Generation), async () => {})).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('is refused while another is under way, and by a task that quits', async () => {
    bench = await openRunBench(async (turn) => {
      await turn.step()
      return new Promise(() => {})
    })
    await bench.run()
    await bench.until('note.added')
    const { target } = bench
    const made = (await next()) as ScriptedGeneration
    const first = target?.swap(made, async () => {})
    await expect(target?.swap(await next(), async () => {})).rejects.toThrow('already changing')
    const closed = bench.tasks.close()
    await expect(target?.swap(await next(), async () => {})).rejects.toMatchObject({ code: 'conflict' })
    await bench.generations[0]?.cancel('by the test')
    // What was under way is settled, and nothing is left running.
    await expect(first).resolves.toBeUndefined()
    await closed
    expect([bench.generations[0]?.stopped, made.stopped]).toEqual(['by the test', 'at rest'])
  })
})
