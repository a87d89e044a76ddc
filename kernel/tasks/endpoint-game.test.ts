// A task that plays a game whose server is another process of this machine, through the one socket that it was given.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'
import type { Event } from '../wire/events.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())

let test: TestKernel
let game: ChildProcess | null = null
let port = ''
beforeEach(async () => {
  test = await openTestKernel(simulator, { turnLimits: { maxSteps: 1, maxMs: 60_000 } })
  await startGame()
})
afterEach(async () => {
  await test.close()
  await stopGame()
})

async function startGame(at = '0'): Promise<void> {
  const server = join(import.meta.dirname, '../testing/fixtures/game-server.mjs')
  game = spawn(process.execPath, [server, '61', at], { stdio: ['pipe', 'pipe', 'inherit'] })
  port = await new Promise((resolve) => {
    if (game?.stdout) createInterface(game.stdout).once('line', resolve)
  })
}

async function stopGame(): Promise<void> {
  if (game === null) return
  const gone = new Promise((resolve) => game?.once('exit', resolve))
  game.stdin?.end()
  await gone
  game = null
}

/** Halves the range until the server says `right`; what it dials is the argument. */
const player = `
const target = process.argv[1]
const socket = require('node:net').connect(/^\\d+$/.test(target) ? { host: '127.0.0.1', port: Number(target) } : { path: target })
let low = 0, high = 100, moves = 0, move
const next = () => socket.write((move = Math.floor((low + high) / 2)) + '\\n', () => moves++)
socket.on('connect', next).setEncoding('utf8').on('data', (said) => {
  if (said === 'right\\n') { console.log('won with', move, 'after', moves); return socket.end() }
  if (said === 'higher\\n') low = move + 1; else high = move - 1
  next()
}).on('error', (error) => console.log('failed:', error.code)).on('end', () => move === undefined && console.log('cut'))`
const play = (target: string) => shell(`/exodesk/bin/node -e '${player.replaceAll("'", `'\\''`)}' "${target}"`)
const toml = () => `[[exodesk.endpoints]]\nname = "game"\naddress = "127.0.0.1:${port}"`
const model = 'sim-script'

const outputs = (events: Event[]) =>
  events.flatMap((event) => (event.kind === 'tool.finished' && event.data.name === 'shell' ? [event.data.output] : []))

describe.skipIf(boxMissing)('a task with an endpoint', () => {
  it('[X2] plays a server of this machine through its socket, and reaches nothing else', async () => {
    const pack = test.pack('game', {
      toml: toml(),
      script: [
        play('$EXODESK_ENDPOINT_GAME'),
        play(port),
        shell('touch /run/endpoints/x; ls -A /run/endpoints'),
        complete(),
      ],
    })
    await expect(test.kernel.tasks.run({ pack, model })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining(`game (127.0.0.1:${port}). If it may, allow each: --allow-endpoint game`),
    })
    const endpoints = [{ name: 'game', address: `127.0.0.1:${port}` }]
    const { task } = await test.kernel.tasks.run({ pack, model, endpoints })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'claimed' })
    const [created] = await test.events(['task.created'])
    expect(created?.data).toMatchObject({ endpoints })
    const [won, direct, folder] = outputs(await test.events(['tool.finished']))
    expect(won).toContain('won with 61')
    expect(direct).toContain('failed: ECONNREFUSED')
    expect(folder).toContain('Read-only file system')
    expect(folder).toMatch(/^game\.sock$/m)
    const used = (await test.events(['endpoint.used'], task)) as Event<'endpoint.used'>[]
    const all = (key: 'connections' | 'refused' | 'bytesIn' | 'bytesOut') =>
      used.reduce((sum, { data }) => sum + data[key], 0)
    expect([all('connections'), all('refused')]).toEqual([1, 0])
    expect(all('bytesIn')).toBeGreaterThan('right\n'.length)
    expect(all('bytesOut')).toBeGreaterThan('61\n'.length)
  })

  it('has its socket again after a restart, and goes on when the service is down', async () => {
    const pack = test.pack('game', {
      toml: toml(),
      script: [
        play('$EXODESK_ENDPOINT_GAME'),
        play('$EXODESK_ENDPOINT_GAME'),
        play('$EXODESK_ENDPOINT_GAME'),
        complete(),
      ],
    })
    const { task } = await test.kernel.tasks.run({ pack, model, endpoints: [{ name: 'game' }] })
    await test.until(({ kind }) => kind === 'sandbox.executed')
    await test.restart()
    await test.until((event) => event.kind === 'tool.finished' && outputs([event])[0]?.includes('won with 61') === true)
    await stopGame()
    expect((await test.kernel.tasks.ended(task)).outcome).toBe('claimed')
    const said = outputs(await test.events(['tool.finished']))
    expect(said.at(-1)).toMatch(/cut|failed: (ECONNRESET|EPIPE)/)
    expect((await test.kernel.status()).notices).toEqual([])
  })
})
