import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../clock.ts'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { ExportFormat } from '../wire/operator-exports.ts'
import { createExports } from './desk.ts'
import { recordRun } from './fixture.ts'

let test: TestHistory
let folder: string
const same = (text: string) => text
beforeAll(async () => {
  test = await openTestHistory()
  folder = mkdtempSync(join(tmpdir(), 'exodesk-formats-'))
  await recordRun(test.history)
})
afterAll(async () => {
  await test.close()
  rmSync(folder, { recursive: true, force: true })
})

async function exported(format: ExportFormat, scope: { task?: string } = { task: 'T-1' }): Promise<string> {
  const parts = { history: test.history, dataDir: test.dataDir, clock: systemClock, version: '1.2.3' }
  const file = join(folder, `${format}-${scope.task ?? 'all'}`)
  await createExports({ ...parts, keys: same, lookalikes: same }).write({ format, ...scope, file, consent: true })
  return readFileSync(file, 'utf8')
}

/** The format's own rules: fields that it does not have are refused, and those of an agent stand on an agent's steps alone. */
const extra = z.record(z.string(), z.json()).optional()
const common = {
  step_id: z.number().int().positive(),
  timestamp: z.iso.datetime(),
  message: z.string(),
  extra,
}
const step = z.discriminatedUnion('source', [
  z.strictObject({ ...common, source: z.literal('system') }),
  z.strictObject({ ...common, source: z.literal('user') }),
  z.strictObject({
    ...common,
    source: z.literal('agent'),
    model_name: z.string(),
    reasoning_content: z.string().optional(),
    tool_calls: z
      .array(
        z.strictObject({
          tool_call_id: z.string(),
          function_name: z.string(),
          arguments: z.record(z.string(), z.json()),
          extra,
        }),
      )
      .optional(),
    observation: z
      .strictObject({ results: z.array(z.strictObject({ source_call_id: z.string(), content: z.string(), extra })) })
      .optional(),
    metrics: z
      .strictObject({
        prompt_tokens: z.number().int(),
        completion_tokens: z.number().int(),
        cached_tokens: z.number().int(),
        cost_usd: z.number().optional(),
        extra,
      })
      .optional(),
    llm_call_count: z.number().int().positive(),
  }),
])
const trajectory = z
  .strictObject({
    schema_version: z.literal('ATIF-v1.7'),
    session_id: z.string(),
    trajectory_id: z.string(),
    agent: z.strictObject({ name: z.string(), version: z.string(), model_name: z.string() }),
    notes: z.string().optional(),
    extra,
    steps: z.array(step).min(1),
    final_metrics: z.strictObject({
      total_prompt_tokens: z.number(),
      total_completion_tokens: z.number(),
      total_cached_tokens: z.number(),
      total_cost_usd: z.number().optional(),
      total_steps: z.number(),
      extra,
    }),
  })
  .refine(({ steps }) => steps.every(({ step_id: id }, index) => id === index + 1), 'step ids count from 1')
  .refine(
    ({ steps }) =>
      steps.every(
        (each) =>
          each.source !== 'agent' ||
          (each.observation?.results ?? []).every((result) =>
            each.tool_calls?.some(({ tool_call_id: id }) => id === result.source_call_id),
          ),
      ),
    'a result is of a call of the same step',
  )

describe('a trajectory', () => {
  it('keeps the rules of ATIF 1.7, with each call’s result in its step and sums that hold', async () => {
    const found = trajectory.parse(JSON.parse(await exported('atif')))
    expect(found.steps.map(({ source, message }) => [source, message])).toEqual([
      ['user', 'Count the beans.'],
      ['agent', 'I look first.'],
      ['user', 'Be quick.'],
      ['agent', 'There are 15.'],
      ['system', 'task completed: counted'],
    ])
    expect(found.steps[1]).toMatchObject({
      tool_calls: [{ tool_call_id: 'c1', function_name: 'shell', arguments: { command: 'ls' } }],
      observation: { results: [{ source_call_id: 'c1', content: 'beans.txt' }] },
      metrics: { prompt_tokens: 1200, cached_tokens: 1000, completion_tokens: 40, cost_usd: 0.0006 },
    })
    expect(found.final_metrics).toMatchObject({
      total_prompt_tokens: 2400,
      total_cached_tokens: 2000,
      total_completion_tokens: 80,
      total_cost_usd: 0.0012,
      total_steps: 5,
      extra: { calls_of_unknown_cost: 0, results_without_call: 0 },
    })
    expect(found.notes).toContain('simulated')
  })
})

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, string | number | boolean> }[]
}

describe('spans', () => {
  it('are an OTLP message: a trace for each task, model and tool calls below it, named and counted by convention', async () => {
    const message = JSON.parse(await exported('otel', {}))
    const spans: Span[] = message.resourceSpans[0].scopeSpans[0].spans
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [root] = named('invoke_agent a')
    expect(spans.map(({ name }) => name).toSorted()).toEqual(
      ['chat sim', 'chat sim', 'execute_tool shell', 'invoke_agent a', 'invoke_agent b'].toSorted(),
    )
    for (const span of [...named('chat sim'), ...named('execute_tool shell')])
      expect([span.traceId, span.parentSpanId]).toEqual([root?.traceId, root?.spanId])
    expect(named('invoke_agent b')[0]?.traceId).not.toBe(root?.traceId)
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    for (const { traceId, spanId, startTimeUnixNano, endTimeUnixNano } of spans) {
      expect([traceId, spanId]).toEqual([
        expect.stringMatching(/^[0-9a-f]{32}$/),
        expect.stringMatching(/^[0-9a-f]{16}$/),
      ])
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true)
    }
    const of = (span: Span | undefined) =>
      Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))
    expect(of(named('chat sim')[0])).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'simulator',
      'gen_ai.request.model': 'sim',
      'gen_ai.usage.input_tokens': '1200',
      'gen_ai.usage.cache_read.input_tokens': '1000',
      'gen_ai.usage.output_tokens': '40',
      'gen_ai.conversation.id': 'T-1',
    })
    expect(of(named('execute_tool shell')[0])).toMatchObject({
      'gen_ai.tool.name': 'shell',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.call.arguments': '{"command":"ls"}',
      'gen_ai.tool.call.result': 'beans.txt',
    })
  })
})

describe('lines for fine-tuning', () => {
  it('hold each answer once, as the model was asked for it, with its tools', async () => {
    const lines = (await exported('fine-tuning')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        messages: [
          { role: 'system', content: 'You count.' },
          { role: 'user', content: 'Count the beans.' },
          {
            role: 'assistant',
            content: 'I look first.',
            weight: 1,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } }],
          },
          { role: 'tool', content: 'beans.txt', tool_call_id: 'c1' },
          { role: 'assistant', content: 'There are 15.', weight: 1 },
        ],
        tools: [
          {
            type: 'function',
            function: { name: 'shell', description: 'runs a command', parameters: { type: 'object' } },
          },
        ],
      },
    ])
  })

  it('do not teach again what an example before has taught, where a context was begun anew', async () => {
    const again = await openTestHistory()
    await recordRun(again.history, { breaksAfter: 'Count the beans.' })
    const file = join(folder, 'broken.jsonl')
    const parts = { history: again.history, dataDir: again.dataDir, clock: systemClock, version: '1' }
    await createExports({ ...parts, keys: same, lookalikes: same }).write({
      format: 'fine-tuning',
      task: 'T-1',
      file,
      consent: true,
    })
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const taught = lines.flatMap(({ messages }) =>
      messages
        .filter((message: { role: string; weight?: number }) => message.role === 'assistant' && message.weight === 1)
        .map((message: { content: string }) => message.content),
    )
    expect(lines).toHaveLength(2)
    expect(taught.toSorted()).toEqual(['I look first.', 'There are 15.'])
    await again.close()
  })
})
