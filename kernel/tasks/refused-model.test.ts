// A model that no waiting brings: without a price under a budget in USD, or with an endpoint that refuses. A real kernel.
import { mkdtempSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { boxMissing, openTestKernel, startSimulator, type TestKernel, writePack } from '../testing/kernel.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const simulator = startSimulator()
afterAll(() => simulator.stop())
let test: TestKernel
let server: Server | null = null
afterEach(async () => {
  await test.close()
  server?.close()
  server = null
})

async function open() {
  const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-refused-'))
  writePack(join(dataDir, 'packs/beans'), { script: [] })
  test = await openTestKernel(simulator, { dataDir })
  return createRouterClient(test.kernel.operator, { context: { via: 'socket' as const } })
}

/** An endpoint that answers every request with this status; resolves with its base URL and what was asked. */
async function refusing(status: number) {
  const asked: string[] = []
  const listening = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'not with this key', code: 'no' } }))
  })
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return { asked, baseUrl: `http://127.0.0.1:${(listening.address() as AddressInfo).port}/v1` }
}

describe.skipIf(boxMissing)('an endpoint that refuses', () => {
  it.each([401, 402, 403, 404])(
    'with %i is asked once, and the task is paused at once',
    async (status) => {
      const desk = await open()
      const { asked, baseUrl } = await refusing(status)
      const { task } = await desk.tasks.run({ pack: 'beans', model: 'mine', baseUrl })
      await expect.poll(async () => (await desk.tasks.get({ task })).state, { timeout: 30_000 }).toBe('paused')
      const [paused] = await test.events(['task.paused'], task)
      expect(paused?.data).toMatchObject({ cause: 'model', reason: expect.stringContaining(`HTTP ${status}`) })
      expect(asked).toEqual(['POST /v1/responses'])
    },
    60_000,
  )
})

describe.skipIf(boxMissing)('a model without a price', () => {
  const mine = { pack: 'beans', model: 'mine', baseUrl: 'http://127.0.0.1:9/v1' }
  const refusal = (of: string) => ({
    code: 'invalid',
    message: expect.stringMatching(
      new RegExp(`budget of ${of} is in USD.*exodesk price mine --base-url http://127.0.0.1:9/v1 .*--budget-tokens`),
    ),
  })

  it('is refused under any budget in USD before an agent or a task is made', async () => {
    const desk = await open()
    await expect(desk.tasks.run({ ...mine, budgetNanoUsd: 1_000_000_000 })).rejects.toMatchObject(refusal('the task'))
    await desk.budgets.set({ agent: null, nanoUsd: 1_000_000_000 })
    await expect(desk.tasks.run({ ...mine, budgetTokens: 1_000 })).rejects.toMatchObject(refusal('the day'))
    expect(await test.events(['task.created', 'agent.created'])).toEqual([])
  }, 60_000)

  it('runs under a budget of tokens, and under one in USD once it has a price', async () => {
    const desk = await open()
    const { task } = await desk.tasks.run({ ...mine, agent: 'A', budgetTokens: 100_000 })
    await desk.tasks.stop({ task })
    await test.kernel.tasks.ended(task)
    await desk.budgets.set({ agent: 'A', nanoUsd: 1_000_000_000 })
    await expect(desk.tasks.run({ ...mine, agent: 'A' })).rejects.toMatchObject(refusal('agent A and its forks'))
    await desk.prices.set({ name: 'mine', baseUrl: mine.baseUrl, input: 0, output: 0 })
    const second = await desk.tasks.run({ ...mine, agent: 'A' })
    await desk.tasks.stop({ task: second.task })
    expect(await test.kernel.tasks.ended(second.task)).toMatchObject({ outcome: 'stopped' })
  }, 60_000)
})
