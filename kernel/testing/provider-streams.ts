import type { UsageReport } from '../models/usage.ts'

/** What one kind of server sends for a prompt like "hi", and what is to be made of it. */
export interface ProviderStream {
  name: string
  api: 'responses' | 'chat'
  /** The body of the answer, as it goes over the wire. */
  body: string
  status: 'completed' | 'incomplete' | 'failed'
  /** null: no usable report; it is estimated. */
  report: UsageReport | null
  text: string | null
  calls?: { name: string; arguments: string }[]
  thought?: Record<string, string>
  /** USD, as the server says. */
  usd?: number
  /** A part of what the failure says. */
  says?: string
}

type Chunk = Record<string, unknown> | string

/** Comments and marks are texts; everything else is JSON. */
const sse = (...chunks: Chunk[]) =>
  chunks.map((chunk) => (typeof chunk === 'string' ? `${chunk}\n\n` : `data: ${JSON.stringify(chunk)}\n\n`)).join('')
const done = 'data: [DONE]'

function chunks(head: Record<string, unknown>) {
  return (delta: Record<string, unknown>, finish: string | null = null, more: Record<string, unknown> = {}): Chunk => ({
    ...head,
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  })
}

const openai = chunks({ id: 'chatcmpl-A', model: 'm', service_tier: 'default', system_fingerprint: 'fp_1' })
const router = chunks({ id: 'gen-1', provider: 'Somebody', model: 'vendor/m' })
const ollama = chunks({ id: 'chatcmpl-77', model: 'm', system_fingerprint: 'fp_ollama' })
const vllm = chunks({ id: 'chatcmpl-v', model: 'm' })
const llama = chunks({ id: 'chatcmpl-l', model: 'm.gguf', system_fingerprint: 'b6200-abc' })
const studio = chunks({ id: 'chatcmpl-s', model: 'm', system_fingerprint: 'm' })

const call = (index: number, id: string, name: string, given: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: given },
})
const reported = (input: number, output: number, more: Partial<UsageReport> = {}): UsageReport => ({
  ...{ input, cacheRead: 0, cacheWrite: 0, output, reasoning: 0, cacheReported: more.cacheRead !== undefined },
  ...more,
})

/** Written from what each server documents of its streams: where usage comes, what it is called, and what may be missing. */
export const providerStreams: ProviderStream[] = [
  {
    name: 'OpenAI, Responses: usage in the last event',
    api: 'responses',
    body: sse(
      { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
      { type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta: 'Hello' },
      {
        type: 'response.completed',
        response: {
          ...{ id: 'r', status: 'completed', error: null },
          output: [
            {
              type: 'message',
              id: 'i',
              role: 'assistant',
              content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
            },
          ],
          usage: {
            ...{ input_tokens: 90, output_tokens: 12, total_tokens: 102 },
            input_tokens_details: { cached_tokens: 64 },
            output_tokens_details: { reasoning_tokens: 4 },
          },
        },
      },
    ),
    status: 'completed',
    report: reported(90, 12, { cacheRead: 64, reasoning: 4 }),
    text: 'Hello',
  },
  {
    name: 'OpenAI, Chat: usage in a last chunk without choices, null until then',
    api: 'chat',
    body: sse(
      openai({ role: 'assistant', content: '', refusal: null }, null, { usage: null }),
      openai({ content: 'Hel' }, null, { usage: null }),
      openai({ content: 'lo' }, null, { usage: null }),
      openai({}, 'stop', { usage: null }),
      {
        ...{ id: 'chatcmpl-A', object: 'chat.completion.chunk', model: 'm', choices: [] },
        usage: {
          ...{ prompt_tokens: 80, completion_tokens: 9, total_tokens: 89 },
          prompt_tokens_details: { cached_tokens: 16, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 0, accepted_prediction_tokens: 0 },
        },
      },
      done,
    ),
    status: 'completed',
    report: reported(80, 9, { cacheRead: 16, reasoning: 3 }),
    text: 'Hello',
  },
  {
    name: 'OpenAI, Chat: two calls of tools in pieces, by index',
    api: 'chat',
    body: sse(
      openai({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'read', '')] }),
      openai({ tool_calls: [{ index: 0, function: { arguments: '{"path"' } }] }),
      openai({ tool_calls: [{ index: 0, function: { arguments: ':"a"}' } }] }),
      openai({ tool_calls: [call(1, 'call_b', 'list', '{}')] }),
      openai({}, 'tool_calls'),
      { choices: [], usage: { prompt_tokens: 80, completion_tokens: 30, total_tokens: 110 } },
      done,
    ),
    status: 'completed',
    report: reported(80, 30),
    text: null,
    calls: [
      { name: 'read', arguments: '{"path":"a"}' },
      { name: 'list', arguments: '{}' },
    ],
  },
  {
    name: 'OpenAI, Chat: a refusal',
    api: 'chat',
    body: sse(
      openai({ role: 'assistant', content: null, refusal: '' }),
      openai({ refusal: 'I cannot.' }),
      openai({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 80, completion_tokens: 4, total_tokens: 84 } },
      done,
    ),
    status: 'completed',
    report: reported(80, 4),
    text: null,
  },
  {
    name: 'OpenRouter: comments while it waits, usage with its cost beside an empty delta',
    api: 'chat',
    body: sse(
      ': OPENROUTER PROCESSING',
      ': OPENROUTER PROCESSING',
      router({
        role: 'assistant',
        content: '',
        reasoning: 'Let me see.',
        reasoning_details: [{ type: 'reasoning.text' }],
      }),
      router({ role: 'assistant', content: 'Hello' }),
      router({ role: 'assistant', content: '' }, 'stop', { native_finish_reason: 'end_turn' }),
      router({ role: 'assistant', content: '' }, null, {
        usage: {
          ...{ prompt_tokens: 120, completion_tokens: 20, total_tokens: 140 },
          ...{ cost: 0.00314, is_byok: false, cache_discount: 0.0001 },
          prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10, audio_tokens: 0 },
          cost_details: { upstream_inference_cost: null },
          completion_tokens_details: { reasoning_tokens: 6 },
        },
      }),
      done,
    ),
    status: 'completed',
    report: reported(120, 20, { cacheRead: 40, cacheWrite: 10, reasoning: 6 }),
    text: 'Hello',
    thought: { reasoning: 'Let me see.' },
    usd: 0.00314,
  },
  {
    name: 'OpenRouter: an error in the middle of a stream that began with 200',
    api: 'chat',
    body: sse(
      ': OPENROUTER PROCESSING',
      router({ role: 'assistant', content: 'Hel' }),
      router({ content: '' }, 'error', { error: { code: 502, message: 'Provider disconnected' } }),
      done,
    ),
    status: 'failed',
    report: null,
    text: null,
    says: 'Provider disconnected',
  },
  {
    name: 'Ollama: thoughts in `reasoning`, usage in a last chunk, two calls under one index',
    api: 'chat',
    body: sse(
      ollama({ role: 'assistant', content: '', reasoning: 'Two ' }),
      ollama({ role: 'assistant', content: '', reasoning: 'files.' }),
      ollama({ role: 'assistant', content: '', tool_calls: [call(0, 'call_1', 'read', '{"path":"a"}')] }),
      ollama({ role: 'assistant', content: '', tool_calls: [call(0, 'call_2', 'read', '{"path":"b"}')] }),
      ollama({ role: 'assistant', content: '' }, 'tool_calls'),
      { id: 'chatcmpl-77', choices: [], usage: { prompt_tokens: 60, completion_tokens: 25, total_tokens: 85 } },
      done,
    ),
    status: 'completed',
    report: reported(60, 25),
    text: null,
    thought: { reasoning: 'Two files.' },
    calls: [
      { name: 'read', arguments: '{"path":"a"}' },
      { name: 'read', arguments: '{"path":"b"}' },
    ],
  },
  {
    name: 'Ollama, older: no usage in streams',
    api: 'chat',
    body: sse(
      ollama({ role: 'assistant', content: 'Hello' }),
      ollama({ role: 'assistant', content: '' }, 'stop'),
      done,
    ),
    status: 'completed',
    report: null,
    text: 'Hello',
  },
  {
    name: 'vLLM: thoughts in `reasoning_content`, usage with every chunk, details null',
    api: 'chat',
    body: sse(
      vllm({ role: 'assistant', content: '' }, null, {
        usage: { prompt_tokens: 70, completion_tokens: 0, total_tokens: 70 },
      }),
      vllm({ reasoning_content: 'Hm.' }, null, {
        usage: { prompt_tokens: 70, completion_tokens: 3, total_tokens: 73 },
      }),
      vllm({ content: 'Hello' }, null, { usage: { prompt_tokens: 70, completion_tokens: 5, total_tokens: 75 } }),
      vllm({ content: '' }, 'stop', { usage: { prompt_tokens: 70, completion_tokens: 6, total_tokens: 76 } }),
      {
        ...{ id: 'chatcmpl-v', choices: [] },
        usage: { prompt_tokens: 70, completion_tokens: 6, total_tokens: 76, prompt_tokens_details: null },
      },
      done,
    ),
    status: 'completed',
    report: reported(70, 6),
    text: 'Hello',
    thought: { reasoning_content: 'Hm.' },
  },
  {
    name: 'vLLM: cut by the most tokens in the middle of a call',
    api: 'chat',
    body: sse(
      vllm({ role: 'assistant', content: 'I read.', tool_calls: [call(0, 'chatcmpl-tool-1', 'read', '{"path":"a"}')] }),
      vllm({ tool_calls: [call(1, 'chatcmpl-tool-2', 'read', '{"pa')] }),
      vllm({}, 'length', { stop_reason: null }),
      { choices: [], usage: { prompt_tokens: 70, completion_tokens: 16, total_tokens: 86 } },
      done,
    ),
    status: 'incomplete',
    report: reported(70, 16),
    text: 'I read.',
    calls: [{ name: 'read', arguments: '{"path":"a"}' }],
  },
  {
    name: 'llama.cpp: usage and timings beside the last choice; what was at hand is in the timings',
    api: 'chat',
    body: sse(
      llama({ role: 'assistant', content: null }),
      llama({ content: 'Hello' }),
      llama({}, 'stop', {
        usage: { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 },
        timings: {
          cache_n: 88,
          prompt_n: 12,
          prompt_ms: 30.1,
          predicted_n: 7,
          predicted_ms: 80,
          predicted_per_second: 87,
        },
      }),
      done,
    ),
    status: 'completed',
    report: reported(100, 7, { cacheRead: 88 }),
    text: 'Hello',
  },
  {
    name: 'llama.cpp: timings alone',
    api: 'chat',
    body: sse(
      llama({ role: 'assistant', content: 'Hello' }),
      llama({}, 'stop', { timings: { cache_n: 50, prompt_n: 10, predicted_n: 5 } }),
      done,
    ),
    status: 'completed',
    report: reported(60, 5, { cacheRead: 50 }),
    text: 'Hello',
  },
  {
    name: 'llama.cpp: an error where a chunk should be',
    api: 'chat',
    body: sse({ error: { code: 500, message: 'Failed to parse input', type: 'server_error' } }, done),
    status: 'failed',
    report: null,
    text: null,
    says: 'Failed to parse input',
  },
  {
    name: 'LM Studio: no usage, and arguments as they are',
    api: 'chat',
    body: sse(
      studio({ role: 'assistant', content: 'Hello' }),
      studio({
        tool_calls: [{ index: 0, id: '365174485', type: 'function', function: { name: 'list', arguments: {} } }],
      }),
      studio({}, 'tool_calls'),
      done,
    ),
    status: 'completed',
    report: null,
    text: 'Hello',
    calls: [{ name: 'list', arguments: '{}' }],
  },
  {
    name: 'any: a finish reason and usage, but no [DONE]',
    api: 'chat',
    body: sse(studio({ role: 'assistant', content: 'Hello' }), studio({}, 'stop'), {
      choices: [],
      usage: { prompt_tokens: 70, completion_tokens: 6, total_tokens: 76 },
    }),
    status: 'incomplete',
    report: reported(70, 6),
    text: 'Hello',
    says: 'without its end mark',
  },
  {
    name: 'any: [DONE] and no finish reason',
    api: 'chat',
    body: sse(studio({ role: 'assistant', content: 'Hel' }), done),
    status: 'incomplete',
    report: null,
    text: null,
    says: 'without its end mark',
  },
  {
    name: 'any: calls without ids and without indexes, a chunk of another choice, an unknown chunk',
    api: 'chat',
    body: sse(
      { object: 'prompt.filter', choices: [], prompt_filter_results: [] },
      { choices: [{ index: 1, delta: { content: 'another' }, finish_reason: null }] },
      studio({ role: 'assistant', tool_calls: [{ function: { name: 'list', arguments: '{}' } }] }),
      studio({}, 'function_call'),
      done,
    ),
    status: 'completed',
    report: null,
    text: null,
    calls: [{ name: 'list', arguments: '{}' }],
  },
  {
    name: 'any: nothing at all is said',
    api: 'chat',
    body: sse(studio({ role: 'assistant', content: '' }), studio({}, 'stop'), done),
    status: 'completed',
    report: null,
    text: '',
  },
]
