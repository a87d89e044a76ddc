// Keys as the operator handles them, on the real kernel, with a provider on loopback that keeps what it is sent.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { passphraseSealer } from '../kernel.ts'
import { type CaptureServer, startCaptureServer } from '../testing/capture-server.ts'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../testing/kernel.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const key = 'sk-canary-7f3e9a1b5c8d2046'
const passphrase = 'open sesame'
const model = 'sim-script'
const simulator = startSimulator()
let capture: CaptureServer
let test: TestKernel
let desk: ReturnType<typeof clientOf>

const clientOf = ({ kernel }: TestKernel) => createRouterClient(kernel.operator, { context: { via: 'socket' } })

beforeAll(async () => {
  capture = await startCaptureServer((await simulator.start()).origin)
})
afterAll(async () => {
  await capture.close()
  simulator.stop()
})
beforeEach(async () => {
  capture.requests.length = 0
  test = await openTestKernel(simulator, {
    env: { OTHER_KEY: 'other-canary-1234567890' },
    turnLimits: { maxSteps: 1, maxMs: 60_000 },
    // Read at each start: a new process knows no passphrase.
    get sealers() {
      return [passphraseSealer({ N: 1024, r: 8, p: 1 })]
    },
  })
  desk = clientOf(test)
})
afterEach(() => test.close())

async function restart(): Promise<void> {
  await test.restart()
  desk = clientOf(test)
}

async function seal(name = 'main'): Promise<void> {
  await desk.credentials.unlock({ passphrase })
  await desk.credentials.put({ name, key, baseUrl: capture.baseUrl })
}

const everything = async () => JSON.stringify(await test.events())

describe('the operator’s keys', () => {
  it('[C6] go in once and never come back; each is an event without it', async () => {
    const answers: unknown[] = [await desk.credentials.status()]
    await expect(desk.credentials.put({ name: 'main', key, baseUrl: capture.baseUrl })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('passphrase'),
    })
    answers.push(await desk.credentials.unlock({ passphrase }))
    answers.push(await desk.credentials.put({ name: 'main', key, baseUrl: capture.baseUrl }))
    answers.push(await desk.credentials.put({ name: 'main', key: `${key}-new`, baseUrl: capture.baseUrl }))
    const status = await desk.credentials.status()
    expect(status).toMatchObject({ state: 'open', keys: [{ name: 'main', version: 2 }] })
    answers.push(status, await desk.credentials.remove({ name: 'main' }))
    const { origin } = new URL(capture.baseUrl)
    const kinds = ['credential.sealed', 'credential.removed'] as const
    expect((await test.events(kinds)).map(({ kind, actor, data }) => ({ kind, actor, data }))).toEqual([
      ...[1, 2].map((version) => ({
        kind: 'credential.sealed',
        actor: 'operator',
        data: { credential: 'main', version, origin, sealer: 'passphrase' },
      })),
      { kind: 'credential.removed', actor: 'operator', data: { credential: 'main' } },
    ])
    expect(inspect(answers, { depth: 10 }) + (await everything())).not.toMatch(/canary|sesame/)
  })

  it.each([
    ['an unknown field', { name: 'main', key, baseUrl: 'https://x.test', extra: key }],
    ['a bad name', { name: `../${key}`, key, baseUrl: 'https://x.test' }],
    ['a key that is an object', { name: 'main', key: { key }, baseUrl: 'https://x.test' }],
    ['a bad URL', { name: 'main', key, baseUrl: key }],
  ])('[S2] are refused with %s, and the refusal does not repeat the key', async (_what, input) => {
    await desk.credentials.unlock({ passphrase })
    const error = await desk.credentials.put(input as never).catch((thrown: Error) => thrown)
    expect(error).toBeInstanceOf(Error)
    const said = { ...(error as object), message: (error as Error).message, cause: undefined }
    expect(JSON.stringify(said)).not.toContain('canary')
    expect((await desk.credentials.status()).keys).toEqual([])
  })

  it('that a kill left without their event get it at the next start; a damaged file is a notice, and the host starts', async () => {
    await seal()
    const file = join(test.dataDir, 'credentials.json')
    const content = JSON.parse(readFileSync(file, 'utf8'))
    const [row] = content.credentials
    writeFileSync(file, JSON.stringify({ ...content, credentials: [{ ...row, name: 'late' }] }))
    await restart()
    const events = await test.events(['credential.sealed', 'credential.removed'])
    expect(events.map(({ kind, actor, data }) => [kind, actor, (data as { credential: string }).credential])).toEqual([
      ['credential.sealed', 'operator', 'main'],
      ['credential.sealed', 'kernel', 'late'],
      ['credential.removed', 'kernel', 'main'],
    ])
    writeFileSync(file, '{"torn')
    await restart()
    expect((await desk.host.status()).notices).toMatchObject([{ text: expect.stringContaining('damaged') }])
    expect(await desk.credentials.status()).toMatchObject({ state: 'unusable', keys: [] })
    expect(readFileSync(file, 'utf8')).toBe('{"torn')
  })
})

describe.skipIf(boxMissing)('a task with a sealed key', () => {
  const script = [shell('true'), complete()]

  it('[S1] sends it to its provider, and each use is an event', async () => {
    await seal()
    const pack = test.pack('plain', { script })
    const { task } = await desk.tasks.run({ pack, model, baseUrl: capture.baseUrl, credential: 'main' })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'claimed' })
    const calls = capture.requests.filter(({ body }) => body !== '')
    expect(calls.map(({ headers }) => headers.authorization)).toEqual(calls.map(() => `Bearer ${key}`))
    const used = await test.events(['credential.used'])
    expect(used.map(({ data }) => data)).toEqual(calls.map(() => ({ credential: 'main', model })))
    expect(used.length).toBeGreaterThan(1)
    expect(await everything()).not.toContain('canary')
  })

  it('waits while the vault is locked, says how to unlock it, and goes on by itself afterwards', async () => {
    await seal()
    await restart()
    const pack = test.pack('waits', { script })
    const { task } = await desk.tasks.run({ pack, model, baseUrl: capture.baseUrl, credential: 'main' })
    await test.kernel.tasks.ended(task)
    expect(await desk.tasks.get({ task })).toMatchObject({
      state: 'interrupted',
      outcome: null,
      reason: expect.stringContaining('exodesk key unlock'),
    })
    expect((await desk.host.status()).notices).toMatchObject([{ text: expect.stringContaining('waits for its key') }])
    await expect(desk.tasks.resume({ task })).resolves.toBeDefined()
    await test.kernel.tasks.ended(task)
    await expect(desk.credentials.unlock({ passphrase: 'wrong wrong' })).rejects.toMatchObject({ code: 'forbidden' })
    expect(await desk.credentials.unlock({ passphrase })).toEqual({ resumed: [task] })
    expect(await test.kernel.tasks.ended(task)).toMatchObject({ outcome: 'claimed' })
    expect((await desk.host.status()).notices).toEqual([])
    expect(capture.requests.some(({ headers }) => headers.authorization === `Bearer ${key}`)).toBe(true)
  })

  it('[S2] is refused for another origin, an unknown name, and two keys at once; nothing is sent', async () => {
    await seal()
    const pack = test.pack('refused', { script })
    const run = (request: object) => desk.tasks.run({ pack, model, ...request })
    await expect(run({ baseUrl: 'http://127.0.0.1:9/v1', credential: 'main' })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('is not sent to http://127.0.0.1:9'),
    })
    await expect(run({ baseUrl: capture.baseUrl, credential: 'nobody' })).rejects.toMatchObject({ code: 'not-found' })
    await expect(run({ baseUrl: capture.baseUrl, credential: 'main', keyEnv: 'OTHER_KEY' })).rejects.toMatchObject({
      code: 'invalid',
    })
    expect(capture.requests).toEqual([])
  })
})

describe.skipIf(boxMissing)('a key that turns up where it should not', () => {
  it('[S8] in what a person writes is masked before it is kept, with a warning until the next clean text', async () => {
    await desk.credentials.unlock({ passphrase })
    await desk.credentials.put({ name: 'main', key: 'a-key-of-no-known-form', baseUrl: capture.baseUrl })
    const unknown = 'sk-proj-0Aa1Bb2Cc3Dd4Ee5Ff6Gg7'
    const ask = { toolCalls: [{ name: 'ask', arguments: { question: 'Which?' } }] }
    const pack = test.pack('typed', { script: [ask, complete()] })
    const { task } = await desk.tasks.run({ pack, model })
    await expect.poll(async () => (await desk.tasks.get({ task })).state, { timeout: 50_000 }).toBe('waiting')
    await desk.tasks.steer({ task, text: `use a-key-of-no-known-form or ${unknown}, please` })
    const warned = (await desk.host.status()).notices.map(({ text }) => text)
    expect(warned).toEqual([expect.stringContaining('a key in what you told the agent')])
    const [steered] = await test.events(['task.steered'])
    expect(steered?.data).toEqual({ text: 'use [redacted key] or [redacted key], please' })
    await desk.tasks.steer({ task, text: 'nothing secret: sk-learn-contributors-and-friends' })
    expect((await desk.host.status()).notices).toEqual([])
    await test.kernel.tasks.ended(task)
    const kept = await everything()
    expect(kept).toContain('sk-learn-contributors-and-friends')
    expect(kept).not.toMatch(/no-known-form|0Aa1Bb2Cc3/)
  })

  it('[S8] in an instruction is masked there, and the model never sees it', async () => {
    const unknown = 'gsk_0Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9'
    await seal()
    const pack = test.pack('instructed', { script: [complete(`a ${unknown} b`)] })
    const { task } = await desk.tasks.run({ pack, model, baseUrl: capture.baseUrl, credential: 'main' })
    await test.kernel.tasks.ended(task)
    const { instruction } = await desk.tasks.get({ task })
    expect(instruction).toContain('a [redacted key] b')
    expect((await desk.host.status()).notices).toMatchObject([{ text: expect.stringContaining('the instruction of') }])
    expect((await everything()) + JSON.stringify(capture.requests)).not.toContain('0Aa1Bb2Cc3')
  })

  it('in the output of a tool is masked in history, and in what is sent to any model', async () => {
    await seal()
    const [half, rest] = [key.slice(0, 9), key.slice(9)]
    const encoded = `printf %s%s ${half} ${rest} | base64 -w0`
    const script = [shell(`printf 'it is %s%s.' ${half} ${rest}; echo; ${encoded}`), complete()]
    const pack = test.pack('printed', { script })
    const { task } = await desk.tasks.run({ pack, model, baseUrl: capture.baseUrl, credential: 'main' })
    await test.kernel.tasks.ended(task)
    const [finished] = await test.events(['tool.finished'])
    expect(finished?.data).toMatchObject({ output: expect.stringContaining('it is [redacted key].') })
    const inBase64 = Buffer.from(key).toString('base64').slice(4, 24)
    const said = (await everything()) + capture.requests.map(({ body }) => body).join()
    expect(said).toContain('it is [redacted key].')
    expect(said.includes(key) || said.includes(inBase64)).toBe(false)
  })

  it('in a file of a proposed policy is refused, with the file’s name', async () => {
    await seal()
    const tree = [{ path: 'main.ts', text: `const key = '${key}'\n` }]
    await expect(desk.proposals.submit({ agent: 'a', tree, why: 'because' })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('main.ts holds a key'),
    })
  })
})
