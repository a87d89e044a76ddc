import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { layOut } from './land.ts'
import { exchange, makeWorldFolder, type WorldFolder } from './process.fixture.ts'
import { act } from './rules.ts'
import { begin } from './state.ts'

let folder: WorldFolder
beforeEach(() => {
  folder = makeWorldFolder()
})
afterEach(() => folder.remove())

const seed = 7
const land = layOut(seed)
const near = land.trades.find((trade) => trade.via === null)
if (!near) throw new Error('every land has a place next to camp')
const cycle = [
  ['go', near.place],
  ...Array.from({ length: land.bagSize }, () => ['gather', near.resource]),
  ['go', land.camp],
  ['unload'],
  ['rest'],
  ['repair', near.tool],
]
const actionAt = (n: number): string[] => cycle[n % cycle.length] as string[]

describe('the world process', () => {
  it('loses nothing it acknowledged and does nothing twice when it is killed again and again', async () => {
    let expected = begin(seed, 'skills')
    let n = 0
    for (let round = 0; round < 8; round += 1) {
      const world = folder.start()
      await world.ask('init', { seed, objective: 'skills' })
      for (let i = 0; i < 3 + 7 * round; i += 1) {
        const next = act(expected, `key-${n}`, actionAt(n))
        expect(await folder.act(`key-${n}`, actionAt(n))).toEqual(next.answer)
        expected = next.state
        n += 1
      }
      // The kill falls before, within or after this action: only its key can tell, once the world is back.
      const lost = folder.act(`key-${n}`, actionAt(n)).catch(() => null)
      if (round % 2 === 1) await new Promise((resolve) => setImmediate(resolve))
      await world.kill()
      await lost
      const after = folder.start()
      await after.ask('init', { seed, objective: 'skills' })
      const next = act(expected, `key-${n}`, actionAt(n))
      expect(await folder.act(`key-${n}`, actionAt(n))).toEqual(next.answer)
      expected = next.state
      n += 1
      expect(JSON.parse((await after.ask('save')).state as string).state).toEqual(expected)
      await after.kill()
    }
  })

  it('folds its journal into a snapshot and goes on from there', async () => {
    let expected = begin(seed, 'skills')
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    for (let n = 0; n < 300; n += 1) {
      await folder.act(`key-${n}`, actionAt(n))
      expected = act(expected, `key-${n}`, actionAt(n)).state
    }
    await world.kill()
    expect(fs.readdirSync(folder.env.WORLD_JOURNAL as string).sort()).toEqual(['journal-1.ndjson', 'snapshot-1.json'])
    const after = folder.start()
    expect(JSON.parse((await after.ask('save')).state as string).state).toEqual(expected)
  })

  it('drops a last journal line that was cut off, and refuses a journal damaged before its end', async () => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    await folder.act('a', ['look'])
    await folder.act('b', ['go', near.place])
    const { state } = await world.ask('save')
    await world.kill()
    const file = path.join(folder.env.WORLD_JOURNAL as string, 'journal-0.ndjson')
    fs.appendFileSync(file, '{"key":"c","args":["ga')
    const after = folder.start()
    expect((await after.ask('save')).state).toBe(state)
    await folder.act('c', ['look'])
    await after.kill()
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"a"', 'a"'))
    await expect(folder.start().ask('probe')).rejects.toThrow('line 1 is damaged')
  })

  it('becomes a saved world, in an empty folder too, and stays it after a kill', async () => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    await folder.act('a', ['go', near.place])
    await folder.act('b', ['gather', near.resource])
    const { state } = await world.ask('save')
    await folder.act('c', ['gather', near.resource])
    await world.ask('load', { state })
    await world.kill()
    const after = folder.start()
    expect((await after.ask('save')).state).toBe(state)
    const fork = makeWorldFolder()
    try {
      const other = fork.start()
      await other.ask('load', { state })
      expect(await other.ask('probe')).toMatchObject({ ...(await after.ask('probe')), id: 2 })
      expect(await fork.act('c', ['look'])).toEqual(await folder.act('c', ['look']))
    } finally {
      await fork.remove()
    }
  })

  it('says what is wrong with a request and answers the next', async () => {
    const world = folder.start()
    expect((await world.ask('probe')).error).toContain('init')
    expect((await world.ask('init', { seed: 1.5, objective: 'skills' })).error).toContain('whole number')
    expect((await world.ask('init', { seed, objective: 'riches' })).error).toContain('skills')
    expect((await world.ask('dance')).error).toContain('init, probe, frame, save, load')
    world.child.stdin?.write('not json\n')
    expect(await world.ask('init', { seed, objective: 'skills' })).toMatchObject({ resumed: false })
    expect(await world.ask('init', { seed, objective: 'skills' })).toMatchObject({ resumed: true })
    expect((await world.ask('init', { seed: 8, objective: 'skills' })).error).toContain('seed 7')
    expect((await world.ask('load', { state: '{"state":{"version":2}}' })).error).toContain('version 2')
    expect(await world.ask('probe')).toMatchObject({ value: 0, unit: 'xp', goal: 600, done: false })
    expect((await world.ask('frame')).frame).toContain(`@${land.camp}`)
  })

  it('does not answer probes, saves or loads on the socket', async () => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    for (const op of ['probe', 'save', 'load', 'init']) expect((await folder.act(op, [op])).code).toBe(2)
    expect(JSON.parse(await exchange(folder.socket, '{"id":1,"op":"probe"}\n')).code).toBe(2)
  })

  it('outlives clients that send too much, nothing, or nonsense', async () => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    const nonsense: (string | Buffer)[] = [
      'x'.repeat(1_000_000),
      Buffer.from(Array.from({ length: 9000 }, (_, i) => i % 256)),
      '\n',
      '[]\n',
      'null\n',
      '{"key":"","args":[]}\n',
      '{"key":"k","args":[["look"]]}\n',
      `{"key":"k","args":${'['.repeat(2000)}\n`,
      '{"key":"k","args":["__proto__"]}\n',
    ]
    for (const bytes of nonsense) {
      const reply = await exchange(folder.socket, bytes).catch(() => null)
      if (reply !== null) expect(JSON.parse(reply).code).toBe(2)
    }
    const idlers = await Promise.all(
      Array.from({ length: 200 }, () => {
        const socket = net.connect(folder.socket)
        socket.on('error', () => {})
        return new Promise<net.Socket>((resolve) => socket.once('connect', () => resolve(socket)))
      }),
    )
    expect((await folder.act('a', ['look'])).code).toBe(0)
    for (const socket of idlers) socket.destroy()
    expect((await folder.act('b', ['look'])).code).toBe(0)
    expect(JSON.parse((await world.ask('save')).state as string).state.count).toBe(2)
  })
})

describe('the world command', () => {
  it('prints the answer and ends with its code', async () => {
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    expect(await folder.run('world', ['look'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`[${land.camp}]`),
    })
    expect(await folder.run('world', ['unload'])).toMatchObject({ code: 1, stdout: expect.stringContaining('empty') })
    expect(await folder.run('world', ['look', 'rest'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('One action'),
    })
    expect(JSON.parse((await world.ask('save')).state as string).state.count).toBe(2)
  })

  it('waits for a world that is not up yet', async () => {
    const answer = folder.run('world', ['map'])
    const world = folder.start()
    await world.ask('init', { seed, objective: 'skills' })
    expect(await answer).toMatchObject({ code: 0, stdout: expect.stringContaining(land.camp) })
  })
})
