import { sha256 } from '../store/chain.ts'
import type { Event } from '../wire/events.ts'
import { isKind } from './entries.ts'
import type { Entry, Writer } from './exports.ts'

type Value = string | number | boolean

interface Span {
  trace: string
  id: string
  parent: string | null
  name: string
  /** 1: internal, 3: a client's. */
  kind: 1 | 3
  startMs: number
  endMs: number
  attributes: Record<string, Value | null>
  error?: string | null
}

interface OpenTask {
  trace: string
  id: string
  begun: Event<'task.created'>
  lastMs: number
  calls: Map<string, { event: Event<'tool.called'>; text: string }>
}

/**
 * Spans by the GenAI semantic conventions of OpenTelemetry (which are in development), as one OTLP message in JSON: a
 * trace for each task, in it a span for each model call and each tool call.
 */
export const otel: Writer = async function* (entries, context) {
  const tasks = new Map<string, OpenTask>()
  let isFirst = true
  const spans = function* (list: readonly Span[]): Generator<string> {
    for (const span of list) {
      yield `${isFirst ? '' : ',\n'}${JSON.stringify(asOtlp(span))}`
      isFirst = false
    }
  }
  const resource = { attributes: attributes({ 'service.name': 'exodesk', 'service.version': context.version }) }
  const scope = { name: 'exodesk', version: context.version }
  yield `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[\n`
  for await (const entry of entries) {
    const { event } = entry
    if (isKind(event, 'task.created')) {
      const id = event.hash.slice(0, 16)
      const trace = sha256(`exodesk ${event.task} ${event.hash}`).slice(0, 32)
      tasks.set(event.task ?? '', { trace, id, begun: event, lastMs: event.at, calls: new Map() })
      continue
    }
    const task = tasks.get(event.task ?? '')
    if (task === undefined) continue
    task.lastMs = Math.max(task.lastMs, event.at)
    yield* spans(spansOf(task, entry))
    if (isKind(event, 'task.finished')) {
      tasks.delete(event.task ?? '')
      const isBad = event.data.outcome === 'failed'
      yield* spans([taskSpan(task, isBad ? event.data.reason : null, event.data.outcome)])
    }
  }
  for (const task of tasks.values()) yield* spans([taskSpan(task, null, 'not over')])
  yield '\n]}]}]}\n'
}

function taskSpan({ trace, id, begun, lastMs }: OpenTask, error: string | null, outcome: string): Span {
  const { model, title } = begun.data
  return {
    trace,
    id,
    parent: null,
    name: `invoke_agent ${begun.agent}`,
    kind: 1,
    startMs: begun.at,
    endMs: lastMs,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': begun.agent,
      'gen_ai.agent.description': title,
      'gen_ai.conversation.id': begun.task,
      'gen_ai.request.model': model.name,
      'exodesk.outcome': outcome,
      'exodesk.simulated': model.simulated,
    },
    error,
  }
}

function spansOf(task: OpenTask, { event, text }: Entry): Span[] {
  const common = { trace: task.trace, id: event.hash.slice(0, 16), parent: task.id }
  const place = {
    'gen_ai.conversation.id': event.task,
    'gen_ai.agent.name': event.agent,
    'exodesk.event.seq': event.seq,
    'exodesk.revision': event.revision,
    'exodesk.turn': event.turn,
    'exodesk.step': event.step,
  }
  if (isKind(event, 'tool.called')) {
    task.calls.set(event.data.call, { event, text })
    return []
  }
  if (isKind(event, 'model.called')) {
    const { model, usage, status, error, costNanoUsd, simulated, durationMs } = event.data
    return [
      {
        ...common,
        name: `chat ${model}`,
        kind: 3,
        startMs: event.at - durationMs,
        endMs: event.at,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': providerOf(task.begun.data.model.baseUrl, simulated),
          'gen_ai.request.model': model,
          'gen_ai.usage.input_tokens': usage && usage.uncached + usage.cacheRead + usage.cacheWrite,
          'gen_ai.usage.output_tokens': usage?.output ?? null,
          'gen_ai.usage.cache_read.input_tokens': usage?.cacheRead ?? null,
          'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWrite ?? null,
          'gen_ai.usage.reasoning.output_tokens': usage?.reasoning ?? null,
          'exodesk.cost_usd': costNanoUsd === null ? null : costNanoUsd / 1e9,
          'exodesk.simulated': simulated,
          'error.type': status === 'completed' ? null : status,
          ...place,
        },
        error: status === 'completed' ? null : (error ?? status),
      },
    ]
  }
  if (!isKind(event, 'tool.finished')) return []
  const called = task.calls.get(event.data.call)
  task.calls.delete(event.data.call)
  const { name, call, outcome, durationMs } = event.data
  return [
    {
      ...common,
      name: `execute_tool ${name}`,
      kind: 1,
      // By its own clock where it has one: the result may have waited for the next request.
      startMs: called?.event.at ?? event.at,
      endMs: durationMs === null || called === undefined ? event.at : called.event.at + durationMs,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': call,
        'gen_ai.tool.call.arguments': called?.text ?? null,
        'gen_ai.tool.call.result': text,
        'error.type': outcome === 'ok' ? null : outcome,
        ...place,
      },
      error: outcome === 'ok' ? null : outcome,
    },
  ]
}

function providerOf(baseUrl: string, simulated: boolean): string {
  if (simulated) return 'simulator'
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  const known = [
    ['openai.com', 'openai'],
    ['anthropic.com', 'anthropic'],
    ['deepseek.com', 'deepseek'],
    ['x.ai', 'x_ai'],
    ['mistral.ai', 'mistral_ai'],
    ['groq.com', 'groq'],
  ].find(([end]) => host === end || host.endsWith(`.${end}`))
  return known?.[1] ?? (host === '' ? 'unknown' : host)
}

function asOtlp(span: Span) {
  return {
    traceId: span.trace,
    spanId: span.id,
    ...(span.parent === null ? {} : { parentSpanId: span.parent }),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: nanos(Math.min(span.startMs, span.endMs)),
    endTimeUnixNano: nanos(span.endMs),
    attributes: attributes(span.attributes),
    status: span.error == null ? {} : { code: 2, message: span.error },
  }
}

const nanos = (ms: number) => String(BigInt(Math.round(ms)) * 1_000_000n)

/** What is not known is left out. Whole numbers are texts, as the JSON of Protocol Buffers has it. */
function attributes(values: Record<string, Value | null>) {
  return Object.entries(values).flatMap(([key, value]) => (value === null ? [] : [{ key, value: anyValue(value) }]))
}

function anyValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
