import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { POLICY_SENTENCE } from '../instructions.ts'
import { calls, type Output } from './answers.fixture.ts'
import { FakeKernel, type Sent } from './kernel.fixture.ts'

/** As the simulator counts: o200k over the tools' JSON, the instructions and the texts of items, ids and envelopes left out. */
function tokens(sent: Sent): number {
  return (
    countTokens(JSON.stringify(sent.tools)) +
    countTokens(sent.instructions) +
    sent.input.reduce((sum, item) => sum + itemTokens(item), 0)
  )
}
function itemTokens(item: Output): number {
  if (item.type === 'function_call') return countTokens(`${item.name}${item.arguments}`)
  if (item.type === 'function_call_output') return countTokens(String(item.output))
  return countTokens(typeof item.content === 'string' ? item.content : JSON.stringify(item.content))
}

/** A short task in the manner of the peers' measure: a shell command a step, with an output of some 700 bytes. */
async function shellTask(steps: number): Promise<Sent[]> {
  let step = 0
  const kernel = new FakeKernel(() => {
    step += 1
    const command = `sed -n '${step * 10},${step * 10 + 9}p' data/records.csv | sort -t, -k3 | head -n 10`
    return [step > steps ? calls('complete', { summary: 'done' }) : calls('shell', { command })]
  })
  kernel.exec = () => ({
    stdout: Array.from(
      { length: 10 },
      (_, row) => `${step * 10 + row},station-${row},2024-03-1${row},${row * 37}.5,ok,checked`,
    ).join('\n'),
  })
  await kernel.connect()
  await kernel.turn(steps + 1)
  return kernel.sent
}

describe('the prompt', () => {
  it('starts with at most 1,500 tokens and grows by at most 250 a plain step beyond what the command printed', async () => {
    const sent = await shellTask(50)
    const first = tokens(sent[0] as Sent)
    const last = tokens(sent[50] as Sent)
    const perStep = (last - first) / 50
    console.info(`first request ${first} tokens; ${perStep.toFixed(0)} a step; 50 steps ${last}`)
    expect(first).toBeLessThanOrEqual(1_500)
    const printed = countTokens(String(sent[50]?.input.at(-1)?.output))
    const command = itemTokens(sent[50]?.input.at(-2) as Output)
    expect(perStep - printed - command).toBeLessThanOrEqual(5)
  })

  it('tells of the own source in one sentence that can be taken out, and nowhere else', async () => {
    const [first] = await shellTask(0)
    expect(first?.instructions.split(POLICY_SENTENCE)).toHaveLength(2)
    expect(first?.instructions.replace(POLICY_SENTENCE, '')).not.toContain('/policy')
    expect(JSON.stringify([first?.tools, first?.input])).not.toContain('/policy')
  })

  it('mentions neither the sentence nor propose where proposals are off', async () => {
    const kernel = new FakeKernel(() => [calls('complete', { summary: 'done' })], { propose: false })
    await kernel.connect()
    await kernel.turn()
    expect(kernel.sent[0]?.instructions).not.toContain(POLICY_SENTENCE)
    expect(JSON.stringify(kernel.sent[0])).not.toMatch(/propose|\/policy/)
  })
})
