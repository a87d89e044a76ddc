import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../kernel/clock.ts'
import { createModelCards } from '../kernel/models/cards.ts'
import { createGateway } from '../kernel/models/gateway.ts'
import { createPriceTable } from '../kernel/models/prices.ts'
import { createTokenCounter } from '../kernel/models/tokens.ts'
import { atMost, type Bench, quantile, time } from './row.ts'

const chunks = 3000
const rounds = 3

/** What a streamed answer costs on its way through the gateway, beside a bare fetch that reads the same. */
export const bench: Bench = async function* () {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'stream-peer.mjs'), String(chunks)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = await once(createInterface(child.stdout), 'line')
  const baseUrl = `http://127.0.0.1:${port}/v1`
  try {
    // The first of each warms up.
    const [raw, gateway] = [[] as Run[], [] as Run[]]
    for (let round = 0; round <= rounds; round += 1) {
      for (const [runs, run] of [
        [raw, () => byFetch(baseUrl)],
        [gateway, () => byGateway(baseUrl)],
      ] as const) {
        const made = await measured(run)
        if (round > 0) runs.push(made)
      }
    }
    const cpuOf = (runs: readonly Run[]) => Math.min(...runs.map(({ cpuMs }) => cpuMs)) / (chunks / 1000)
    const hopOf = (runs: readonly Run[]) =>
      quantile(
        runs.flatMap(({ hopsMs }) => hopsMs),
        0.5,
      )
    const ceiling = { what: 'bare fetch', value: cpuOf(raw) }
    yield time('gateway: CPU per 1,000 chunks at 1,000 a second', cpuOf(gateway), ceiling, 0.62)
    const added = Math.max(0, hopOf(gateway) - hopOf(raw))
    yield atMost('gateway: added to the way of a chunk, p50', { value: added, unit: 'ms' }, 10)
  } finally {
    child.stdin.end()
    await once(child, 'exit')
  }
}

interface Run {
  cpuMs: number
  hopsMs: number[]
}

async function measured(run: () => Promise<number[]>): Promise<Run> {
  const before = process.cpuUsage()
  const hopsMs = await run()
  const { user, system } = process.cpuUsage(before)
  if (hopsMs.length !== chunks) throw new Error(`${hopsMs.length} of ${chunks} chunks came`)
  return { cpuMs: (user + system) / 1000, hopsMs }
}

const now = () => performance.timeOrigin + performance.now()

async function byFetch(baseUrl: string): Promise<number[]> {
  const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', body: '{}' })
  const decoder = new TextDecoder()
  const hops: number[] = []
  let held = ''
  for await (const bytes of response.body ?? []) {
    held += decoder.decode(bytes, { stream: true })
    const at = now()
    const blocks = held.split('\n\n')
    held = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block === 'data: [DONE]') continue
      const { content } = JSON.parse(block.slice(6)).choices[0].delta
      if (content !== undefined) hops.push(at - Number(content))
    }
  }
  return hops
}

async function byGateway(baseUrl: string): Promise<number[]> {
  const hops: number[] = []
  const cards = createModelCards()
  const gateway = createGateway({
    clock: systemClock,
    prices: createPriceTable({ cards }),
    cards,
    counter: createTokenCounter(),
    keys: async () => null,
    redact: (text) => text,
    keyStart: () => 0,
  })
  gateway.openBudget('T-1', { limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0 })
  const answer = await gateway.call({
    agent: 'A',
    task: 'T-1',
    model: { name: 'm', api: 'chat', baseUrl, keyEnv: null, simulated: false },
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    signal: new AbortController().signal,
    onDelta: ({ text }) => {
      const at = now()
      for (const written of text.trim().split(' ')) hops.push(at - Number(written))
    },
    onAttempt: async () => undefined,
  })
  if (answer.status !== 'completed') throw new Error(answer.error?.message ?? answer.status)
  return hops
}
