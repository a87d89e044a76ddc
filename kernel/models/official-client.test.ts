// OpenAI's own client as the yardstick: what the simulator speaks is the real API, what the gateway makes of an answer is
// what that client makes of it, and the gateway lets no field through that the API does not have.
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { startSimulator } from '../testing/kernel.ts'
import type { ModelChoice } from '../wire/events.ts'
import { createModelCards, parseModelCards } from './cards.ts'
import type { ChatBody } from './chat-request.ts'
import { createGateway } from './gateway.ts'
import type { Gateway } from './models.ts'
import { createPriceTable } from './prices.ts'
import type { ResponsesBody } from './request.ts'
import { createTokenCounter } from './tokens.ts'

type Unknown<Ours, Theirs> = Exclude<keyof Ours, keyof Theirs>
/** Does not compile where an allowlist names a field that the API has not. */
const noFieldOfOurOwn: [
  Unknown<ResponsesBody, OpenAI.Responses.ResponseCreateParams>,
  Unknown<ChatBody, OpenAI.ChatCompletionCreateParams>,
] extends [never, never]
  ? true
  : never = true

const simulator = startSimulator()
const script = [{ text: 'look', toolCalls: [{ name: 'shell', arguments: { command: 'ls' } }] }, { text: 'done' }]
const prompt = `\`\`\`script\n${JSON.stringify(script)}\n\`\`\``
const parameters = { type: 'object', properties: { command: { type: 'string' } } }
let client: OpenAI
let gateway: Gateway
let model: Omit<ModelChoice, 'api'>

beforeAll(async () => {
  const baseURL = `${(await simulator.start()).origin}/seed/5/v1`
  client = new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0, logLevel: 'off' })
  const cards = createModelCards()
  cards.add(parseModelCards(await (await fetch(`${baseURL}/models`)).json()))
  gateway = createGateway({
    clock: systemClock,
    cards,
    counter: createTokenCounter(),
    prices: createPriceTable({ cards }),
    keys: async () => null,
    redact: (text) => text,
    keyStart: () => 0,
  })
  gateway.openBudget('T-1', { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
  model = { name: 'sim-script', baseUrl: baseURL, keyEnv: null, simulated: true }
})
afterAll(() => simulator.stop())

const ask = async (api: ModelChoice['api'], body: Record<string, unknown>) => {
  const answer = await gateway.call({
    agent: 'a',
    task: 'T-1',
    model: { ...model, api },
    body,
    signal: new AbortController().signal,
    onAttempt: async () => {},
  })
  expect(answer).toMatchObject({ status: 'completed', usageSource: 'reported' })
  return answer
}

describe("OpenAI's client", () => {
  it('and the gateway read the same Responses answer, streamed and whole', async () => {
    expect(noFieldOfOurOwn).toBe(true)
    const body = {
      model: 'sim-script',
      input: [{ role: 'user' as const, content: prompt }],
      tools: [{ type: 'function' as const, name: 'shell', parameters, strict: false }],
    }
    const whole = await client.responses.create(body)
    const streamed = await client.responses.stream(body).finalResponse()
    const ours = await ask('responses', body)
    const shown = (response: unknown) =>
      (response as OpenAI.Responses.Response).output.map((item) =>
        item.type === 'function_call'
          ? [item.name, item.arguments]
          : item.type === 'message'
            ? item.content.map((part) => (part.type === 'output_text' ? part.text : part.type))
            : item.type,
      )
    expect(shown(whole)).toEqual([['look'], ['shell', '{"command":"ls"}']])
    expect(shown(streamed)).toEqual(shown(whole))
    expect(shown(ours.response)).toEqual(shown(whole))
    expect((ours.usage?.uncached ?? 0) + (ours.usage?.cacheRead ?? 0)).toBe(whole.usage?.input_tokens)
    expect(ours.usage?.output).toBe(whole.usage?.output_tokens)
  })

  it('and the gateway read the same Chat Completions answer, streamed and whole', async () => {
    const body = {
      model: 'sim-script',
      messages: [{ role: 'user' as const, content: prompt }],
      tools: [{ type: 'function' as const, function: { name: 'shell', parameters } }],
    }
    const whole = await client.chat.completions.create(body)
    const streamed = await client.chat.completions
      .stream({ ...body, stream_options: { include_usage: true } })
      .finalChatCompletion()
    const ours = await ask('chat', body)
    const shown = (completion: unknown) => {
      const [choice] = (completion as OpenAI.ChatCompletion).choices
      const calls = choice?.message.tool_calls?.map((call) =>
        call.type === 'function' ? [call.function.name, call.function.arguments] : call.type,
      )
      return [choice?.message.content, calls, choice?.finish_reason]
    }
    expect(shown(whole)).toEqual(['look', [['shell', '{"command":"ls"}']], 'tool_calls'])
    expect(shown(streamed)).toEqual(shown(whole))
    expect(shown(ours.response)).toEqual(shown(whole))
    expect(ours.usage?.output).toBe(whole.usage?.completion_tokens)
  })

  it('is told of a wrong model as by the real service', async () => {
    await expect(client.responses.create({ model: 'no-such', input: 'x' })).rejects.toMatchObject({ status: 404 })
  })
})
