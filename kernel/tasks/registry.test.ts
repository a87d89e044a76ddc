// Requests to run: numbers, names, what is refused, and what the desk is told of tasks.
import { afterEach, describe, expect, it } from 'vitest'
import { writePack } from '../testing/kernel.ts'
import { openRunBench, type RunBench, untilAsked } from '../testing/run.ts'

let bench: RunBench
afterEach(() => bench.close())

const working = async () => {
  bench = await openRunBench(untilAsked)
}

describe('requests to run', () => {
  it('made at once get a number each, and an agent gets one task', async () => {
    await working()
    const asked = ['a', 'b', 'a', 'c'].map((agent) =>
      bench.run({ agent }).catch((error: { code: string }) => error.code),
    )
    expect(await Promise.all(asked)).toEqual(['T-1', 'T-2', 'conflict', 'T-3'])
    const created = await bench.events(['task.created'])
    expect(created.map(({ task, agent, actor }) => [task, agent, actor])).toEqual([
      ['T-1', 'a', 'operator'],
      ['T-2', 'b', 'operator'],
      ['T-3', 'c', 'operator'],
    ])
  })

  it('are refused where the pack needs what is not here, or the sandbox is another', async () => {
    await working()
    const image = writePack(`${bench.open.dataDir}/image`, { script: [], toml: '[environment]\ndocker_image = "x"' })
    await expect(bench.run({ pack: image })).rejects.toMatchObject({ code: 'unavailable', message: /needs Docker/ })
    await expect(bench.run({ sandbox: 'docker' })).rejects.toThrow('This host can run tasks in local boxes')
    bench.report = { name: 'local', available: false, detail: 'no', reason: 'no bubblewrap', fix: 'apt-get install it' }
    await expect(bench.run()).rejects.toThrow('no sandbox can be had: no bubblewrap. To mend it: apt-get install it')
    expect(await bench.events(['task.created'])).toEqual([])
  })

  it.each([
    [{ budgetNanoUsd: 0 }, /a budget of 0 dollars lets no call through/],
    [{ budgetTokens: 0 }, /a budget of 0 tokens lets no call through/],
    [{ endpoints: [{ name: 'game' }] }, /has no endpoint "game"; it has: none/],
  ])('with %j are refused with what to write instead, and make neither agent nor task', async (request, why) => {
    await working()
    bench.knowsAgents = false
    await expect(bench.run(request)).rejects.toMatchObject({ code: 'invalid', message: expect.stringMatching(why) })
    expect(bench.knowsAgents).toBe(false)
    expect(await bench.events(['task.created', 'agent.created'])).toEqual([])
  })

  it('with an endpoint say so in the task, by name and address', async () => {
    await working()
    const address = '127.0.0.1:8080'
    const toml = `[[exodesk.endpoints]]\nname = "game"\naddress = "${address}"`
    const pack = writePack(`${bench.open.dataDir}/game`, { script: [], toml })
    await expect(bench.run({ pack })).rejects.toMatchObject({ code: 'forbidden' })
    await bench.run({ pack, endpoints: [{ name: 'game', address }] })
    const [created] = await bench.events(['task.created'])
    expect(created?.data).toMatchObject({ endpoints: [{ name: 'game', address }] })
    await bench.until('turn.started')
    expect(bench.target?.context().brief.instruction).toContain('/run/endpoints/game.sock')
    expect(bench.target?.box()).toMatchObject({ env: { EXODESK_ENDPOINT_GAME: '/run/endpoints/game.sock' } })
  })

  it('[X12] with words that are options somewhere are names that do not fit, or packs that are not there', async () => {
    await working()
    const { runRequestSchema } = await import('../wire/operator.ts')
    for (const word of [
      '--privileged',
      '-v/:/h',
      '--network=host',
      '; rm -rf /',
      '$(id)',
      'a b',
      '../x',
      'a\0b',
      'a\n--x',
    ]) {
      expect(runRequestSchema.safeParse({ pack: bench.pack, agent: word }).success, word).toBe(false)
      expect(runRequestSchema.safeParse({ pack: bench.pack, sandbox: word }).success, word).toBe(false)
      await expect(bench.run({ pack: word }), word).rejects.toMatchObject({ code: 'not-found' })
    }
    expect(runRequestSchema.safeParse({ pack: bench.pack, agent: 'plain-1' }).success).toBe(true)
    expect(runRequestSchema.safeParse({ pack: bench.pack, mounts: ['/:/h'] }).success).toBe(false)
    expect(await bench.events(['task.created'])).toEqual([])
  })

  it('after the app has begun to end are refused, and leave nothing running', async () => {
    await working()
    await bench.run({ agent: 'a' })
    const closed = bench.tasks.close()
    await expect(bench.run({ agent: 'b' })).rejects.toMatchObject({ code: 'unavailable' })
    await closed
    expect(bench.tasks.states()).toMatchObject([{ task: 'T-1', state: 'interrupted' }])
  })
})

describe('a task of no name', () => {
  it.each(['exodesk/', '...', '// ??', '_x', 'ä'])(
    'made from a pack called %j gets an agent with a lawful one',
    async (name) => {
      await working()
      const pack = writePack(`${bench.open.dataDir}/named`, { script: [] })
      const { writeFileSync } = await import('node:fs')
      writeFileSync(`${pack}/task.toml`, `[task]\nname = ${JSON.stringify(name)}`)
      bench.knowsAgents = false
      const { agent } = await bench.tasks.run({ pack })
      expect(agent).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    },
  )
})

describe('what is told of a task', () => {
  it('needs no look at history for what is asked often, and a look only where something happened', async () => {
    await working()
    await bench.run()
    await bench.until('note.added')
    const before = await bench.tasks.list()
    expect(bench.tasks.states()).toEqual([
      {
        task: 'T-1',
        agent: 'a',
        state: 'running',
        approve: 'none',
        simulated: true,
        model: before[0]?.model,
        lastEventAt: before[0]?.lastEventAt,
      },
    ])
    const { totals } = bench.open.history
    let asked = 0
    bench.open.history.totals = (scope) => {
      asked += 1
      return totals(scope)
    }
    expect(await bench.tasks.list()).toEqual(before)
    expect(asked).toBe(0)
    await bench.tasks.steer('T-1', 'hello')
    await bench.tasks.list()
    expect(asked).toBe(1)
  })

  it('that does not exist is that it does not exist', async () => {
    await working()
    for (const ask of ['get', 'resume', 'stop', 'frame', 'progress', 'ended'] as const)
      await expect(bench.tasks[ask]('T-9'), ask).rejects.toMatchObject({ code: 'not-found' })
    await expect(bench.tasks.pause('T-9', 'operator', '')).rejects.toMatchObject({ code: 'not-found' })
  })
})
