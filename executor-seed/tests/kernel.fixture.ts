// Long because: one stand-in for all that a policy can ask for.
import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type {
  ExecutorToKernel,
  InitializeResult,
  Json,
  KernelMethod,
  SandboxJob,
  TaskBrief,
  TurnRunResult,
  WireEvent,
} from '#wire'
import { start } from '../executor.ts'
import {
  type Api,
  Cut,
  calls,
  callsIn,
  chatAnswer,
  type Output,
  responsesAnswer,
  resultsIn,
  unanswered,
} from './answers.fixture.ts'

/** A request as a provider would get it: references resolved; of Chat, the first message apart. */
export interface Sent {
  api: Api
  instructions: string
  tools: Json[]
  input: { [key: string]: Json }[]
  toolChoice: Json | undefined
  /** Elements of the input that came by reference. */
  refs: number
}
/** What the model answers, in the items of the Responses API whichever is spoken; a Failure is refused instead. */
export type Player = (sent: Sent, kernel: FakeKernel) => Output[] | Cut | Failure | Promise<Output[] | Cut | Failure>
export class Failure {
  readonly code: string
  readonly message: string
  constructor(code: string, message: string) {
    this.code = code
    this.message = message
  }
}

/** A pair of streams to an executor: in this process, or a child's stdio. */
export interface Ends {
  write(line: string): void
  onLine(listener: (line: string) => void): void
  close(): void
}

type Handler = (params: never) => unknown

/** As the kernel describes a model to a policy. */
export const sim = (api: Api, contextWindow = 200_000, maxOutputTokens = 8_000): TaskBrief['model'] => ({
  name: 'sim',
  api,
  contextWindow,
  maxOutputTokens,
  cacheReadFactor: null,
})

const brief: TaskBrief = {
  task: 'T-1',
  instruction: 'Count the lines of every file in data and write the total to total.txt.',
  workdir: '/task',
  model: sim('responses'),
  propose: true,
  limits: { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null },
}

/**
 * The kernel's side of the wire, as far as a policy can tell: history with derived tool events, references, artifacts, blobs,
 * a sandbox of files in memory whose commands a test answers. Outlives the executors that are connected to it one after another.
 */
export class FakeKernel {
  readonly events: WireEvent[] = []
  readonly sent: Sent[] = []
  readonly files = new Map<string, string>()
  readonly artifacts: { name: string; version: number; hash: string; sizeBytes: number; at: number; text: string }[] =
    []
  readonly asked: string[] = []
  readonly proposed: ExecutorToKernel['policy.propose']['params'][] = []
  /** Longest line that the executor wrote, bytes. */
  longestLine = 0
  task: TaskBrief
  readonly jobs = new Map<string, SandboxJob & { logs: { stdout: string; stderr: string } }>()
  readonly snapshots = new Map<string, Map<string, string>>()
  exec: (command: string) => { exitCode?: number; stdout?: string; stderr?: string } | Promise<never> = () => ({})
  complete: (summary: string) => { accepted: boolean; message: string } = () => ({ accepted: true, message: 'done' })
  onRequest: (body: { [key: string]: Json }) => void = () => {}
  usageTokens: (sent: Sent) => number = (sent) => Math.ceil(JSON.stringify(sent.input).length / 4)
  budgetLeft: { nanoUsd: number | null; tokens: number | null; steps: number | null } = {
    nanoUsd: null,
    tokens: null,
    steps: null,
  }
  #player: Player
  readonly #items = new Map<string, Output>()
  readonly #blobs = new Map<string, string>()
  /** Open calls: id to name. */
  readonly #openCalls = new Map<string, string>()
  #ends: Ends | null = null
  #lastId = 0
  readonly #waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()

  constructor(player: Player, task: Partial<TaskBrief> = {}) {
    this.#player = player
    this.task = { ...brief, ...task }
  }

  append(kind: string, data: { [key: string]: Json }, task: string | null = this.task.task): WireEvent {
    const event: WireEvent = {
      seq: this.events.length + 1,
      at: 1_000 + this.events.length,
      task,
      turn: null,
      step: null,
      actor: 'kernel',
      revision: null,
      kind,
      data,
    }
    this.events.push(event)
    return event
  }

  connect(ends: Ends = inProcess()): Promise<InitializeResult> {
    this.#ends = ends
    ends.onLine((line) => {
      this.longestLine = Math.max(this.longestLine, Buffer.byteLength(line) + 1)
      if (this.#ends === ends) void this.#receive(JSON.parse(line))
    })
    return this.request('initialize', {
      wire: { min: 1, max: 1 },
      agent: 'A',
      revision: '0'.repeat(64),
      activation: 1,
      limits: { frameBytes: 1_048_576, depth: 64, inFlight: 64, chunkBytes: 65_536, streamCredits: 16 },
      task: this.task,
    }) as Promise<InitializeResult>
  }

  /** The process dies: what it had open is closed as the kernel does. */
  crash(): void {
    this.#ends?.close()
    this.#ends = null
    this.#waiting.clear()
    for (const [call, name] of this.#openCalls) {
      this.#finish(call, name, 'interrupted: effect unknown', 'interrupted')
    }
  }

  async turn(maxSteps = 50): Promise<TurnRunResult> {
    this.append('turn.started', { maxSteps, maxMs: 60_000 })
    const result = (await this.request('turn.run', { turn: 1, maxSteps, maxMs: 60_000 })) as TurnRunResult
    for (const item of result.toolOutputs ?? []) this.#derive(item)
    this.append('turn.ended', { outcome: result.outcome, reason: result.reason ?? null, steps: result.steps })
    return result
  }

  request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#ends?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }

  async #receive(message: {
    id: number
    method?: KernelMethod
    params?: never
    result?: never
    error?: { message: string }
  }) {
    if (message.method === undefined) {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if (message.error !== undefined) waiting?.reject(new Error(message.error.message))
      else waiting?.resolve(message.result as never)
      return
    }
    const ends = this.#ends
    const answer = (body: object) => {
      if (this.#ends === ends) ends?.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`)
    }
    try {
      const handler = this.#handlers[message.method]
      if (handler === undefined) throw new Failure('invalid', `the fake kernel has no ${message.method}`)
      answer({ result: await handler(message.params as never) })
    } catch (error) {
      const { code, message: text } = error instanceof Failure ? error : new Failure('internal', String(error))
      answer({ error: { code: -32000, message: text, data: { code } } })
    }
  }

  readonly #handlers: { [M in KernelMethod]?: Handler } = {
    'history.read': (p: ExecutorToKernel['history.read']['params']) => this.#read(p),
    'history.query': (p: ExecutorToKernel['history.query']['params']) => this.#read(p),
    'history.search': (p: ExecutorToKernel['history.search']['params']) => ({
      events: this.events
        .filter((event) => JSON.stringify(event.data).includes(p.text))
        .reverse()
        .slice(0, p.limit ?? 100),
      next: null,
    }),
    'history.append': (p: { kind: string; data: { [key: string]: Json } }) => ({
      seq: this.append(p.kind, p.data).seq,
    }),
    'artifact.list': (p: { prefix?: string }) => {
      const latest = new Map(this.artifacts.map((artifact) => [artifact.name, artifact]))
      return { artifacts: [...latest.values()].filter((a) => a.name.startsWith(p.prefix ?? '')) }
    },
    'artifact.versions': (p: { name: string }) => ({ versions: this.artifacts.filter((a) => a.name === p.name) }),
    'artifact.get': (p: { name: string }) => {
      const found = this.artifacts.findLast((a) => a.name === p.name)
      if (found === undefined) throw new Failure('not-found', `no artifact ${p.name}`)
      return found
    },
    'artifact.put': (p: { name: string; text: string }) => this.putArtifact(p.name, p.text, 1_000 + this.events.length),
    'blob.put': (p: { base64: string }) => {
      const text = Buffer.from(p.base64, 'base64').toString('utf8')
      this.#blobs.set(sha(text), text)
      return { hash: sha(text) }
    },
    'blob.get': (p: { hash: string }) => {
      const text = this.#blobs.get(p.hash)
      if (text === undefined) throw new Failure('not-found', 'no such blob')
      return { base64: Buffer.from(text).toString('base64'), offset: 0, totalBytes: Buffer.byteLength(text) }
    },
    'sandbox.exec': async (p: { command: string; background?: boolean }) => {
      if (p.background === true) return this.#startJob(p.command)
      const { exitCode = 0, stdout = '', stderr = '' } = await this.exec(p.command)
      const sizes = { stdoutBytes: stdout.length, stderrBytes: stderr.length }
      return { exitCode, signal: null, timedOut: false, stdout, stderr, ...sizes, durationMs: 1 }
    },
    'sandbox.jobs': () => ({ jobs: [...this.jobs.values()].map(({ logs: _, ...job }) => job) }),
    'sandbox.logs': (p: { job: string; stream?: 'stdout' | 'stderr' }) => {
      const { logs, ...job } = this.jobs.get(p.job) ?? missing(`job ${p.job}`)
      const text = logs[p.stream ?? 'stdout']
      return { ...job, text, from: 0, to: text.length }
    },
    'sandbox.kill': (p: { job: string }) => {
      const { logs: _, ...job } = Object.assign(this.jobs.get(p.job) ?? missing(`job ${p.job}`), {
        state: 'ended',
        ending: 'killed',
      })
      return job
    },
    'sandbox.snapshots': () => ({
      snapshots: [...this.snapshots.keys()].map((name) => ({ name, at: 1, sizeBytes: 10 })),
    }),
    'sandbox.snapshot': (p: { name: string }) => {
      this.snapshots.set(p.name, new Map(this.files))
      return { name: p.name, at: 1, sizeBytes: 10 }
    },
    'sandbox.restore': (p: { name: string }) => {
      const kept = this.snapshots.get(p.name) ?? missing(`snapshot ${p.name}`)
      this.files.clear()
      for (const [path, text] of kept) this.files.set(path, text)
      return {}
    },
    'sandbox.read': (p: { path: string }) => {
      const text = this.files.get(p.path)
      if (text === undefined) throw new Failure('not-found', `no file ${p.path}`)
      return { text, totalBytes: Buffer.byteLength(text), binary: false }
    },
    'sandbox.write': (p: { path: string; text: string; expect?: string }) => {
      if (p.expect !== undefined && p.expect !== sha(this.files.get(p.path) ?? ''))
        throw new Failure('conflict', 'it changed')
      this.files.set(p.path, p.text)
      return { hash: sha(p.text) }
    },
    'report.usage': () => ({
      scope: 'task',
      total: row('all'),
      byModel: [],
      byActivation: [{ ...row('r1'), activation: 1, revision: '0'.repeat(64), steps: 3, progressDelta: 2 }],
      byTool: [{ name: 'shell', calls: 3, errors: 1, interrupted: 0, outputBytes: 100, durationMs: 40 }],
      cachedShare: 0.9,
      cacheBreaks: [],
      composition: { instructions: 1, tools: 2, messages: 3, toolResults: 4 },
      repeatedCalls: [{ name: 'shell', arguments: '{"command":"ls"}', count: 4 }],
      budgetLeft: this.budgetLeft,
      progress: null,
    }),
    'policy.propose': (p: ExecutorToKernel['policy.propose']['params']) => {
      this.proposed.push(p)
      return { proposal: `P-${this.proposed.length}`, revision: 'ab'.repeat(32), state: 'checking' }
    },
    'task.complete': (p: { summary: string }) => this.complete(p.summary),
    'task.ask': (p: { question: string }) => {
      this.asked.push(p.question)
      this.append('task.asked', { question: p.question })
      return { asked: true }
    },
    'model.call': (p: ExecutorToKernel['model.call']['params']) => this.#model(p.api, p.body),
  }

  #startJob(command: string) {
    const job = `job-${this.jobs.size + 1}`
    const nothing = { exitCode: null, signal: null, durationMs: 0, stdoutBytes: 0, stderrBytes: 0 }
    const logs = { stdout: 'so far\n', stderr: '' }
    this.jobs.set(job, { ...nothing, job, command, state: 'running', ending: null, startedAt: 1, logs })
    return { ...nothing, timedOut: false, stdout: '', stderr: '', job }
  }

  putArtifact(name: string, text: string, at: number) {
    const version = this.artifacts.filter((a) => a.name === name).length + 1
    const artifact = { name, version, hash: sha(text), sizeBytes: text.length, at, text }
    this.artifacts.push(artifact)
    return artifact
  }

  #read(p: ExecutorToKernel['history.read']['params']) {
    const { after = 0, before = Number.POSITIVE_INFINITY, kinds, limit = 100, order = 'asc', scope = 'task' } = p
    if (limit > 500) throw new Failure('invalid', 'limit is over 500')
    const found = this.events.filter(
      (event) =>
        event.seq > after &&
        event.seq < before &&
        (kinds === undefined || kinds.includes(event.kind)) &&
        (scope === 'agent' || event.task === this.task.task),
    )
    if (order === 'desc') found.reverse()
    // Small pages, so that every test walks over their edges.
    const events = found.slice(0, Math.min(limit, 7))
    return { events, next: found.length > events.length ? (events.at(-1)?.seq ?? null) : null }
  }

  async #model(api: Api, body: { [key: string]: Json }) {
    if (api !== this.task.model.api) throw new Failure('invalid', `this task's model speaks ${this.task.model.api}`)
    this.onRequest(body)
    let refs = 0
    const given = (api === 'chat' ? body.messages : body.input) as Output[]
    const resolved = given.map((element) => {
      if (typeof element.ref !== 'string') return element
      refs += 1
      const item = this.#items.get(element.ref)
      if (item === undefined) throw new Failure('invalid', `no item ${element.ref} in this task`)
      return item
    })
    const problem = unanswered(resolved)
    if (problem !== null) throw new Failure('invalid', problem)
    for (const item of resolved) {
      this.#items.set(sha(JSON.stringify(item)), item)
      this.#derive(item)
    }
    const [head, ...rest] = resolved
    const sent = {
      api,
      instructions: String(api === 'chat' ? head?.content : body.instructions),
      tools: body.tools as Json[],
      input: api === 'chat' ? rest : resolved,
      toolChoice: body.tool_choice,
      refs,
    }
    this.sent.push(sent)
    const answered = await this.#player(sent, this)
    if (answered instanceof Failure) {
      this.append('model.called', { status: 'failed', output: [], usage: null, error: answered.message })
      throw answered
    }
    const status = answered instanceof Cut ? 'incomplete' : 'completed'
    const said = answered instanceof Cut ? answered.output : answered
    const { response, kept } = api === 'chat' ? chatAnswer(said, status) : responsesAnswer(said, status)
    for (const item of kept) this.#items.set(sha(JSON.stringify(item)), item)
    const usage = { uncached: this.usageTokens(sent), cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
    const request = this.sent.length
    const event = this.append('model.called', {
      status,
      request,
      output: kept.map((item) => ({ hash: sha(JSON.stringify(item)), type: String(item.type ?? 'message') })),
      usage,
    })
    for (const { id, name, given: text } of callsIn(kept)) {
      this.#openCalls.set(id, name)
      this.append('tool.called', { call: id, name, arguments: text, request })
    }
    return { seq: event.seq, status, response, usage, costNanoUsd: 1_000, pendingEvents: 0 }
  }

  #derive(item: Output): void {
    for (const { id, output } of resultsIn([item])) {
      const name = this.#openCalls.get(id)
      if (name !== undefined) this.#finish(id, name, output, output.startsWith('error:') ? 'error' : 'ok')
    }
  }

  #finish(call: string, name: string, output: string, outcome: string): void {
    this.#openCalls.delete(call)
    const data: { [key: string]: Json } = { call, name, outcome, output, outputBytes: Buffer.byteLength(output) }
    if (Buffer.byteLength(output) > 8_192) {
      this.#blobs.set(sha(output), output)
      data.outputBlob = sha(output)
      data.output = output.slice(0, 1_000)
    }
    this.append('tool.finished', data)
  }
}

function inProcess(): Ends {
  const toExecutor = new PassThrough()
  const listeners: ((line: string) => void)[] = []
  start(toExecutor, (line) =>
    setImmediate(() => {
      for (const listener of listeners) listener(line)
    }),
  )
  return {
    write: (line) => toExecutor.write(line),
    onLine: (listener) => listeners.push(listener),
    close: () => toExecutor.destroy(),
  }
}

/** Plays the given answers in order, then completes. */
export function script(...answers: (Output[] | Cut | Failure)[]): Player {
  let next = 0
  return () => answers[next++] ?? [calls('complete', { summary: 'done' })]
}

function sha(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function row(key: string) {
  return {
    key,
    calls: 4,
    failed: 0,
    costNanoUsd: 5_000_000,
    uncached: 100,
    cacheRead: 900,
    cacheWrite: 0,
    output: 50,
    reasoning: 0,
  }
}

function missing(what: string): never {
  throw new Failure('not-found', `no ${what}`)
}
