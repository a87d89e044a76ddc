// The gateway against the real simulator, as the host runs it: as a process of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import type { ModelChoice } from '../wire/events.ts'
import { createModelCards, parseModelCards } from './cards.ts'
import { createGateway } from './gateway.ts'
import type { Gateway } from './models.ts'
import { createPriceTable } from './prices.ts'
import { createTokenCounter } from './tokens.ts'

let simulator: ChildProcess
let gateway: Gateway
let model: ModelChoice

beforeAll(async () => {
  const main = join(import.meta.dirname, '../../simulator/main.ts')
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] })
  simulator = child
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url } = JSON.parse(line)
  const cards = createModelCards()
  cards.add(parseModelCards(await (await fetch(`${url}/models`)).json()))
  gateway = createGateway({
    clock: systemClock,
    cards,
    counter: createTokenCounter(),
    prices: createPriceTable({ cards }),
    keys: async () => null,
    redact: (text) => text,
    keyStart: () => 0,
  })
  model = {
    name: 'sim-script',
    api: 'responses',
    baseUrl: url.replace('/v1', '/seed/3/v1'),
    keyEnv: null,
    simulated: true,
  }
})
afterAll(async () => {
  simulator.stdin?.end()
  await once(simulator, 'exit')
})

describe('a scripted task on the simulator', () => {
  it('runs to its end under a budget, cached and priced by the model card', async () => {
    gateway.openBudget('T-1', { limitNanoUsd: 5_000_000_000, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
    const decisions = [1, 2, 3].map((n) => ({
      text: `step ${n}`,
      toolCalls: [{ name: 'bash', arguments: { command: `echo ${n}` } }],
    }))
    const input: Record<string, unknown>[] = [
      { role: 'user', content: `\`\`\`script\n${JSON.stringify([...decisions, { text: 'finished' }])}\n\`\`\`` },
    ]
    const instructions = 'Work in small steps and say what you do. '.repeat(150)
    const cached: number[] = []
    const costs: number[] = []
    let text = ''
    for (let step = 0; step < 4; step += 1) {
      text = ''
      const answer = await gateway.call({
        agent: 'A',
        task: 'T-1',
        model,
        body: {
          model: 'sim-script',
          instructions,
          input,
          prompt_cache_key: 'A',
          tools: [{ type: 'function', name: 'bash', parameters: {} }],
        },
        signal: new AbortController().signal,
        onDelta: (delta) => {
          if (delta.type === 'text') text += delta.text
        },
        onAttempt: async () => {},
      })
      expect(answer).toMatchObject({ status: 'completed', usageSource: 'reported', attempts: 1, costReason: null })
      const { uncached = 0, cacheRead = 0, output = 0 } = answer.usage ?? {}
      expect(answer.costNanoUsd).toBe(uncached * 1250 + cacheRead * 125 + output * 10_000)
      cached.push(cacheRead)
      costs.push(answer.costNanoUsd ?? 0)
      for (const item of (answer.response?.output ?? []) as Record<string, unknown>[]) {
        input.push(item)
        if (item.type === 'function_call')
          input.push({ type: 'function_call_output', call_id: item.call_id, output: 'ok' })
      }
    }
    expect(text).toBe('finished')
    expect(cached[0]).toBe(0)
    expect(cached.slice(1).every((tokens) => tokens >= 1024)).toBe(true)
    expect(gateway.budget('T-1')).toMatchObject({ spentNanoUsd: costs.reduce((a, b) => a + b), reservedNanoUsd: 0 })
  })

  it('is described by its card', () => {
    expect(gateway.describe(model)).toEqual({ contextWindow: 400_000, maxOutputTokens: 128_000, cacheReadFactor: 0.1 })
  })
})
