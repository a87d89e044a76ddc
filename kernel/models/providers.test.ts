import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { begin, type FakeUpstream } from '../testing/fake-upstream.ts'
import { type GatewayBench, openGatewayBench } from '../testing/gateway.ts'
import { type ProviderStream, providerStreams } from '../testing/provider-streams.ts'
import type { Attempt, GatewayAnswer } from './models.ts'

let upstream: FakeUpstream
let attempts: Attempt[]
let openGateway: GatewayBench['openGateway']
let aCall: GatewayBench['aCall']

beforeEach(async () => {
  ;({ upstream, attempts, openGateway, aCall } = await openGatewayBench())
})
afterEach(() => upstream.close())

const messages = [{ role: 'user', content: 'hi' }]

/** Text, calls and thoughts of an answer, whichever API it came by. */
function said({ response }: GatewayAnswer) {
  const [choice] = (response?.choices ?? []) as { message: Record<string, unknown> }[]
  const [item] = (response?.output ?? []) as { content: { text: string }[] }[]
  const { content, tool_calls, reasoning, reasoning_content } = choice?.message ?? {}
  const calls = tool_calls as { id: string; function: { name: string; arguments: string } }[] | undefined
  return { text: item?.content[0]?.text ?? content ?? null, calls, thoughts: { reasoning, reasoning_content } }
}

async function ask({ api, body }: ProviderStream, priced: boolean): Promise<GatewayAnswer> {
  upstream.answerWith((response) => void begin(response).end(body))
  const gateway = openGateway({ priced, limits: { retries: 0 } })
  return gateway.call(api === 'chat' ? chatCall() : aCall())
}

const chatCall = () => ({ ...aCall({ model: { api: 'chat' } }), body: { model: 'm', messages } })

/** All but ids that were made up. */
function comparable(answer: GatewayAnswer) {
  const { calls = [], ...rest } = said(answer)
  const { status, usage } = answer
  return { ...rest, calls: calls.map(({ function: called }) => called), status, usage }
}

describe('a stream of', () => {
  it.each(providerStreams)('[F19] $name', async (given) => {
    const answer = await ask(given, true)
    const { text, calls, thoughts } = said(answer)
    expect(answer.status).toBe(given.status)
    expect(text).toBe(given.text)
    expect(calls?.map(({ function: called }) => called)).toEqual(given.calls)
    for (const { id } of calls ?? []) expect(id).toMatch(/^[\w.:-]+$/)
    expect(thoughts).toMatchObject(given.thought ?? {})
    if (given.says === undefined) expect(answer.error).toBeNull()
    else expect(answer.error?.message).toContain(given.says)
    if (given.report === null) {
      expect(answer.usageSource).toBe('estimated')
      expect(answer.usage?.uncached).toBeGreaterThan(0)
    } else {
      const { input, cacheRead, cacheWrite, output, reasoning } = given.report
      const uncached = input - cacheRead - cacheWrite
      expect(answer).toMatchObject({ usageSource: 'reported' })
      expect(answer.usage).toEqual({ uncached, cacheRead, cacheWrite, output, reasoning })
    }
    expect(attempts.map(({ status }) => status)).toEqual([given.status])
  })

  it.each(providerStreams.filter(({ usd }) => usd !== undefined))(
    '$name: what it says that it charges counts where no price is known',
    async (given) => {
      const answer = await ask(given, false)
      expect(answer).toMatchObject({ costNanoUsd: Math.round((given.usd ?? 0) * 1e9), costReason: null })
      expect(answer.priceVersion).toBe('as charged by the provider')
    },
  )

  it('any kind may come in pieces of any size, with any line ends', async () => {
    for (const given of providerStreams.filter(({ api }) => api === 'chat')) {
      const whole = await ask(given, true)
      const bytes = Buffer.from(given.body.replaceAll('\n', '\r\n'))
      upstream.answerWith(async (response) => {
        begin(response)
        for (let at = 0; at < bytes.length; at += 7) {
          if (!response.write(bytes.subarray(at, at + 7)))
            await new Promise((resolve) => response.once('drain', resolve))
        }
        response.end()
      })
      const pieces = await openGateway({ limits: { retries: 0 } }).call(chatCall())
      expect(comparable(pieces), given.name).toEqual(comparable(whole))
    }
  })
})
