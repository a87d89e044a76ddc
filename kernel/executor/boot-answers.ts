import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { TokenCounter } from '../models/models.ts'
import type {
  ArtifactValue,
  Json,
  ModelCallParams,
  ModelCallResult,
  PolicyStatus,
  SandboxJob,
} from '../wire/executor.ts'
import type { Methods } from './channel.ts'
import type { BootReport } from './executor.ts'
import { composition, conversationField, itemOf } from './items.ts'

const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
const scriptedCall = 'boot-call-1'

/** What a fresh agent on a fresh task would be answered, with a model that calls one tool and then talks. Nothing behind it is real. */
export class BootAnswers {
  modelCalls = 0
  firstRequest: BootReport['firstRequest'] = null
  readonly methods: Methods
  readonly #tokens: TokenCounter
  readonly #clock: Clock
  readonly #artifacts = new Map<string, ArtifactValue>()
  readonly #blobs = new Map<string, Buffer>()
  #seq = 1

  constructor(tokens: TokenCounter, clock: Clock, revision: string) {
    this.#tokens = tokens
    this.#clock = clock
    const status: PolicyStatus = { active: { revision, activation: 1 }, base: revision, changed: [], proposals: [] }
    const job: SandboxJob = {
      ...{ job: 'job-1', command: 'ls', state: 'ended', ending: 'exited', exitCode: 0, signal: null },
      ...{ startedAt: clock.now(), durationMs: 1, stdoutBytes: 10, stderrBytes: 0 },
    }
    const none = async () => ({ events: [], next: null })
    this.methods = {
      'history.read': none,
      'history.query': none,
      'history.search': none,
      'history.append': async () => ({ seq: this.#nextSeq() }),
      'report.usage': async (params) => emptyReport(params.scope ?? 'task'),
      'artifact.put': async ({ name, text }) => {
        const { text: _, ...ref } = this.#put(name, text)
        return ref
      },
      'artifact.get': async ({ name }) => this.#artifacts.get(name) ?? missing(`artifact ${name}`),
      'artifact.list': async () => ({ artifacts: [...this.#artifacts.values()].map(({ text: _, ...ref }) => ref) }),
      'artifact.versions': async ({ name }) => {
        const { text: _, ...ref } = this.#artifacts.get(name) ?? missing(`artifact ${name}`)
        return { versions: [ref] }
      },
      'blob.put': async ({ base64 }) => {
        const bytes = Buffer.from(base64, 'base64')
        this.#blobs.set(sha256(bytes), bytes)
        return { hash: sha256(bytes) }
      },
      'blob.get': async ({ hash, offset = 0, length = 262_144 }) => {
        const bytes = this.#blobs.get(hash) ?? missing(`blob ${hash}`)
        const range = bytes.subarray(offset, offset + length)
        return { base64: range.toString('base64'), offset, totalBytes: bytes.length }
      },
      'model.call': async (params) => this.#call(params),
      'sandbox.exec': async ({ background }) => ({
        exitCode: background === true ? null : 0,
        signal: null,
        timedOut: false,
        stdout: background === true ? '' : 'README.md\n',
        stderr: '',
        stdoutBytes: background === true ? 0 : 10,
        stderrBytes: 0,
        durationMs: 1,
        ...(background === true ? { job: job.job } : {}),
      }),
      'sandbox.read': async () => ({ text: 'A file of the boot check.\n', totalBytes: 26, binary: false }),
      'sandbox.write': async ({ text }) => ({ hash: sha256(text) }),
      'sandbox.list': async () => ({ entries: [{ name: 'README.md', type: 'file', sizeBytes: 26 }] }),
      'sandbox.snapshot': async ({ name }) => ({ name, at: this.#clock.now(), sizeBytes: 4096 }),
      'sandbox.restore': async () => ({}),
      'sandbox.snapshots': async () => ({ snapshots: [] }),
      'sandbox.jobs': async () => ({ jobs: [job] }),
      'sandbox.logs': async () => ({ ...job, text: 'README.md\n', from: 0, to: 10 }),
      'sandbox.kill': async () => job,
      'policy.status': async () => status,
      'policy.read': async () => ({ text: '// A file of the boot check.\n' }),
      'policy.diff': async () => ({ diff: '' }),
      'policy.propose': async () => ({ proposal: 'P-1', revision, state: 'checking' }),
      'policy.withdraw': async () => ({ state: 'withdrawn' }),
      'policy.reset': async () => status,
      'task.complete': async () => ({ accepted: true, message: 'noted' }),
      'task.ask': async () => ({ asked: true }),
    }
  }

  async #call(params: ModelCallParams): Promise<ModelCallResult> {
    this.modelCalls += 1
    const { api, body } = params
    const given = body[conversationField[api]]
    const items = (Array.isArray(given) ? given : given === undefined ? [] : [given]).map(itemOf)
    if (this.firstRequest === null) {
      const parts = composition(api, body, items, this.#tokens)
      const itemsTokens = parts.messages + parts.toolResults
      this.firstRequest = { instructionsTokens: parts.instructions, toolsTokens: parts.tools, itemsTokens }
    }
    const tool = this.modelCalls === 1 ? chooseTool(body.tools) : null
    return {
      seq: this.#nextSeq(),
      status: 'completed',
      response: api === 'responses' ? responsesAnswer(tool) : chatAnswer(tool),
      usage,
      costNanoUsd: 0,
      pendingEvents: 0,
    }
  }

  #put(name: string, text: string): ArtifactValue {
    const value: ArtifactValue = {
      name,
      version: (this.#artifacts.get(name)?.version ?? 0) + 1,
      hash: sha256(text),
      sizeBytes: Buffer.byteLength(text),
      at: this.#clock.now(),
      text,
    }
    this.#artifacts.set(name, value)
    return value
  }

  #nextSeq(): number {
    this.#seq += 1
    return this.#seq
  }
}

interface OfferedTool {
  name: string
  isCustom: boolean
  parameters: unknown
}

/** The request's `shell`, else its first tool. Both APIs' ways to write one are understood. */
function chooseTool(tools: unknown): OfferedTool | null {
  const offered = (Array.isArray(tools) ? tools : []).flatMap((tool): OfferedTool[] => {
    const { type, function: nested } = (tool ?? {}) as { type?: unknown; function?: unknown }
    const { name, parameters } = (nested ?? tool ?? {}) as { name?: unknown; parameters?: unknown }
    return typeof name === 'string' ? [{ name, parameters, isCustom: type === 'custom' }] : []
  })
  return offered.find(({ name }) => name === 'shell') ?? offered[0] ?? null
}

function responsesAnswer(tool: OfferedTool | null): { [key: string]: Json } {
  const output: Json[] = []
  if (tool === null) {
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }]
    output.push({ type: 'message', id: 'msg_boot', role: 'assistant', status: 'completed', content })
  } else if (tool.isCustom) {
    output.push({ type: 'custom_tool_call', id: 'ctc_boot', call_id: scriptedCall, name: tool.name, input: 'ls' })
  } else {
    const given = JSON.stringify(sample(tool.parameters, ''))
    const call = { id: 'fc_boot', call_id: scriptedCall, name: tool.name, arguments: given, status: 'completed' }
    output.push({ type: 'function_call', ...call })
  }
  return { id: 'resp_boot', model: 'boot-check', status: 'completed', output }
}

function chatAnswer(tool: OfferedTool | null): { [key: string]: Json } {
  const call = tool && { name: tool.name, arguments: JSON.stringify(sample(tool.parameters, '')) }
  const message: Json = call
    ? { role: 'assistant', content: null, tool_calls: [{ id: scriptedCall, type: 'function', function: call }] }
    : { role: 'assistant', content: 'Done.' }
  return {
    id: 'chat_boot',
    model: 'boot-check',
    choices: [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop' }],
  }
}

/** A plain value that fits a JSON schema as tools use them: required properties only. */
function sample(schema: unknown, name: string): Json {
  const { type, properties, required, items, enum: choices } = (schema ?? {}) as Record<string, unknown>
  if (Array.isArray(choices) && choices.length > 0) return choices[0] as Json
  const kind = Array.isArray(type) ? type[0] : type
  if (kind === 'array') return [sample(items, name)]
  if (kind === 'integer' || kind === 'number') return 1
  if (kind === 'boolean') return false
  if (kind === 'null') return null
  if (kind === 'string') return /path|file/i.test(name) ? 'README.md' : 'ls'
  const fields = (properties ?? {}) as Record<string, unknown>
  const wanted = Array.isArray(required) ? required.filter((key) => typeof key === 'string') : Object.keys(fields)
  return Object.fromEntries(wanted.map((key) => [key, sample(fields[key], key)]))
}

function emptyReport(scope: 'task' | 'agent') {
  const nothing = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, costNanoUsd: 0 }
  return {
    scope,
    total: { key: 'total', calls: 0, failed: 0, ...nothing },
    byModel: [],
    byActivation: [],
    byTool: [],
    cachedShare: null,
    cacheBreaks: [],
    composition: { instructions: 0, tools: 0, messages: 0, toolResults: 0 },
    repeatedCalls: [],
    budgetLeft: { nanoUsd: null, tokens: null, steps: null },
    progress: null,
  }
}

function missing(what: string): never {
  throw new KernelError('not-found', `no ${what}`)
}

function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
