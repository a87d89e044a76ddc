import { systemClock } from '../clock.ts'
import { keysFromEnvironment } from '../credentials/environment.ts'
import { createMasks } from '../credentials/masks.ts'
import { createModelCards } from '../models/cards.ts'
import { createGateway, type GatewayLimits } from '../models/gateway.ts'
import type { Attempt, Gateway, GatewayCall, SharedBudgets } from '../models/models.ts'
import { createPriceTable } from '../models/prices.ts'
import { createTokenCounter } from '../models/tokens.ts'
import type { ModelChoice } from '../wire/events.ts'
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts'

/** Holds characters that change in each encoding. */
export const testKey = 'sk-canary-0123456789/+='

/** A gateway before a fake provider whose model `m` costs 1, 0.1 (cached) and 8 USD per million tokens. */
export interface GatewayBench {
  upstream: FakeUpstream
  /** As reported, over all calls. */
  attempts: Attempt[]
  /** Task T-1 is open, without limits. */
  openGateway(options?: { limits?: Partial<GatewayLimits>; priced?: boolean; shared?: SharedBudgets }): Gateway
  aCall(call?: Partial<Omit<GatewayCall, 'model'>> & { model?: Partial<ModelChoice> }): GatewayCall
}

export async function openGatewayBench(): Promise<GatewayBench> {
  const upstream = await startFakeUpstream()
  const attempts: Attempt[] = []
  const price = { name: 'm', baseUrl: upstream.baseUrl, input: 1, cachedInput: 0.1, output: 8, since: '2026-01-01' }
  return {
    upstream,
    attempts,
    openGateway({ limits = {}, priced = true, shared } = {}) {
      const masks = createMasks()
      const keys = keysFromEnvironment({ THE_KEY: testKey }, masks)
      const cards = createModelCards()
      const gateway = createGateway({
        clock: systemClock,
        cards,
        counter: createTokenCounter(),
        prices: createPriceTable({ cards, overrides: () => (priced ? [price] : []) }),
        keys: async ({ keyEnv }) => (keyEnv === null ? null : keys.get(keyEnv)),
        redact: masks.redact,
        keyStart: masks.keyStart,
        limits,
        ...(shared === undefined ? {} : { shared }),
      })
      gateway.openBudget('T-1', { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
      return gateway
    },
    aCall: (call = {}) => ({
      agent: 'A',
      task: 'T-1',
      signal: new AbortController().signal,
      onAttempt: async (attempt) => void attempts.push(attempt),
      ...call,
      model: {
        name: 'm',
        api: 'responses',
        baseUrl: upstream.baseUrl,
        keyEnv: 'THE_KEY',
        simulated: false,
        ...call.model,
      },
      body: { model: 'm', input: 'hi', ...call.body },
    }),
  }
}
