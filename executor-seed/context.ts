import { createHash } from 'node:crypto'
import type { Json, ModelCallResult, WireEvent } from '#wire'
import { apis } from './apis.ts'
import { CUT_OFF, NUDGE } from './instructions.ts'
import type { Kernel } from './kernel.ts'
import { messageKinds, messageOf } from './messages.ts'
import type { Answer, Api, Item } from './model.ts'

type TokenUsage = ModelCallResult['usage']

/** A step as the model sees it: its answer, what its calls gave, and what it was told afterwards. */
interface Step {
  /** seq of its `model.called`; 0: before the first. */
  seq: number
  /** Id of its request, where history told it: calls name it. */
  request: number | null
  /** Hashes of the answer's items. The kernel has them, so they are sent by reference. */
  answer: string[]
  /** The answer was cut off before its end. */
  cut: boolean
  /** By call id, in the order of the calls; null while a call is open. */
  results: Map<string, Item | null>
  messages: Item[]
}

/** Topics of the notes by which a context says in history what no other event tells. */
const JOINED = 'context.joined'
const TOLD = 'context.told'
const DROPPED = 'context.dropped'

const folded = ['model.called', 'tool.called', 'tool.finished', 'message.appended', 'note.added', ...messageKinds]

/**
 * What the model is sent after instructions and tools: the task message, perhaps a summary, then the steps. It only grows at its end,
 * but at a summary, so a provider's prompt cache holds. It is a function of history alone: `rebuild` gives, item for item,
 * what an earlier process had in memory.
 */
export class Context {
  /** Tokens of the last request and its answer, as metered; 0 before the first and after a summary. */
  tokens = 0
  /** Notices given by `tell` since the last summary. */
  told = 0
  /** Tokens below which no summary is asked for, because the model wrote none lately. */
  noSummaryBelow = 0
  readonly #api: Api
  readonly #task: Item
  #summary: Item | null = null
  #steps: Step[] = []
  #unsent: Item[] = []
  /** Messages that no request has carried yet, by seq. */
  readonly #waiting = new Map<number, string>()
  #lastSeq = 0

  constructor(taskMessage: string, api: Api) {
    this.#api = api
    this.#task = message(taskMessage)
    this.#addStep(0, [], false)
  }

  /** Results that no request has carried: the end of a turn hands them over, else nobody who rebuilds the context had them. */
  get unsentResults(): readonly Item[] {
    return this.#unsent
  }

  get steps(): number {
    return this.#steps.length
  }

  /** How many answers in a row, up to the last, called no tool and were followed by nothing but the nudge. */
  get idleAnswers(): number {
    const busy = this.#steps.findLastIndex(
      (step) => step.seq === 0 || step.results.size > 0 || step.messages.length > 0,
    )
    return this.#steps.length - 1 - busy
  }

  /** Input of the next request. With `steps`, only that many from the first: for a summary where all would not fit. */
  input(steps: number = this.#steps.length): Json[] {
    const last = this.#steps.at(-1)
    const items: Json[] = this.#summary === null ? [this.#task] : [this.#task, this.#summary]
    for (const step of this.#steps.slice(0, steps)) {
      for (const ref of step.answer) items.push({ ref })
      // What follows the last answer has not been sent before; all else the kernel knows by its hash.
      for (const item of follow(step)) items.push(step === last ? item : { ref: hash(item) })
    }
    return items
  }

  /** seq of the step that is the `count`th from the last: what a summary would keep from. */
  seqFromLast(count: number): number {
    return this.#steps.at(-count)?.seq ?? 0
  }

  /** Adds a step: the model's answer. */
  answered({ seq, status, usage }: ModelCallResult, { items, calls }: Answer): void {
    this.#addStep(seq, items.map(hash), status === 'incomplete')
    for (const { id } of calls) this.#steps.at(-1)?.results.set(id, null)
    this.tokens = tokensOf(usage)
    this.#unsent = []
  }

  /** The result of a call of the last step. */
  finished(call: string, output: string): void {
    const item = this.#finish(call, output)
    if (item !== null) this.#unsent.push(item)
  }

  /** Takes in messages that have come, and puts all that wait after the last step, with a note so that a rebuilt context does the same. */
  async join(kernel: Kernel): Promise<void> {
    for await (const event of eventsAfter(kernel, this.#lastSeq, messageKinds)) this.fold(event)
    if (this.#waiting.size === 0) return
    const seqs = [...this.#waiting.keys()]
    await kernel.call('history.append', { kind: 'note.added', data: { topic: JOINED, text: seqs.join(' ') } })
    this.#joined(seqs)
  }

  /** Puts a notice of the policy's own after the last step. */
  async tell(kernel: Kernel, text: string): Promise<void> {
    await kernel.call('history.append', { kind: 'note.added', data: { topic: TOLD, text } })
    this.#told(text)
  }

  /** Replaces every step before `keepFrom` by a summary, in history and here. */
  async summarise(kernel: Kernel, text: string, keepFrom: number): Promise<void> {
    await kernel.call('history.append', { kind: 'message.appended', data: { role: 'summary', text, keepFrom } })
    this.#summarised(text, keepFrom)
  }

  /** Leaves out an answer that was to be a summary and is none, and asks for no other until the context has grown by a fifth. */
  async drop(kernel: Kernel, seq: number): Promise<void> {
    const text = `${seq} ${Math.ceil(this.tokens * 1.2)}`
    await kernel.call('history.append', { kind: 'note.added', data: { topic: DROPPED, text } })
    this.#foldNote(DROPPED, text)
  }

  /** Applies one event of history. `output` of a `tool.finished` must be whole. */
  fold(event: WireEvent): void {
    this.#lastSeq = Math.max(this.#lastSeq, event.seq)
    const { kind, seq, data } = event
    const told = messageOf(event)
    if (told !== null) this.#waiting.set(seq, told)
    else if (kind === 'model.called' && (data.status === 'completed' || data.status === 'incomplete')) {
      const output = data.output as { hash: string }[]
      const hashes = output.map((item) => item.hash)
      this.#addStep(seq, hashes, data.status === 'incomplete', Number(data.request))
      if (data.usage !== null) this.tokens = tokensOf(data.usage as unknown as TokenUsage)
    } else if (kind === 'tool.called') {
      this.#steps.find((step) => step.request === data.request)?.results.set(String(data.call), null)
    } else if (kind === 'tool.finished') this.#finish(String(data.call), String(data.output))
    else if (kind === 'message.appended' && data.role === 'summary') {
      // The answer before it is the summary itself.
      this.#steps.pop()
      this.#summarised(String(data.text), Number(data.keepFrom))
    } else if (kind === 'note.added') this.#foldNote(String(data.topic), String(data.text))
  }

  /** Gives open calls a result, so that the next request is well-formed: nobody is left who could run them. */
  closeOpenCalls(): void {
    for (const step of this.#steps) {
      for (const [call, result] of step.results) {
        if (result === null) this.#finish(call, 'interrupted: effect unknown')
      }
    }
  }

  /** The first result of a call stands; null: it has one, or is no call of ours. */
  #finish(call: string, output: string): Item | null {
    const step = this.#steps.findLast((candidate) => candidate.results.has(call))
    if (step?.results.get(call) !== null) return null
    const item = this.#api.result(call, output)
    step.results.set(call, item)
    return item
  }

  #foldNote(topic: string, text: string): void {
    if (topic === JOINED) this.#joined(text.split(' ').map(Number))
    else if (topic === TOLD) this.#told(text)
    else if (topic === DROPPED) {
      const [seq, tokens] = text.split(' ').map(Number)
      this.#steps = this.#steps.filter((step) => step.seq !== seq)
      this.noSummaryBelow = tokens ?? 0
    }
  }

  #addStep(seq: number, answer: string[], cut: boolean, request: number | null = null): void {
    this.#steps.push({ seq, request, answer, cut, results: new Map(), messages: [] })
  }

  #joined(seqs: readonly number[]): void {
    for (const seq of seqs) {
      const text = this.#waiting.get(seq)
      if (text !== undefined) this.#steps.at(-1)?.messages.push(message(text))
      this.#waiting.delete(seq)
    }
  }

  #told(text: string): void {
    this.#steps.at(-1)?.messages.push(message(text))
    this.told += 1
  }

  #summarised(text: string, keepFrom: number): void {
    this.#summary = message(`Summary of the work so far:\n${text}`)
    this.#steps = this.#steps.filter((step) => step.seq >= keepFrom)
    this.tokens = 0
    this.told = 0
  }
}

/**
 * The context of the running task, from history: its last summary and what that keeps, else all of it.
 * `taskMessage` is told the topics of the notes that were there before the task began, and what the operator had asked for
 * by then, so that it stays the same throughout.
 */
export async function rebuild(
  kernel: Kernel,
  taskMessage: (topics: string[], asked: string[]) => string,
): Promise<Context> {
  const first = (await kernel.call('history.read', { scope: 'task', order: 'asc', limit: 1 })).events[0]
  const topics = await topicsBefore(kernel, first?.at ?? Number.POSITIVE_INFINITY)
  const asked = first === undefined ? [] : await retirementsAsked(kernel, first.seq)
  const context = new Context(taskMessage(topics, asked), apis[kernel.task.model.api])
  const after = (await lastSummaryStart(kernel)) ?? (first?.seq ?? 1) - 1
  for await (const event of eventsAfter(kernel, after, folded)) context.fold(await whole(kernel, event))
  context.closeOpenCalls()
  return context
}

/** Where to read on from for the steps that the last summary keeps; null: there is none. */
async function lastSummaryStart(kernel: Kernel): Promise<number | null> {
  const { events } = await kernel.call('history.read', { kinds: ['message.appended'], order: 'desc', limit: 50 })
  const keepFrom = events.find((event) => event.data.role === 'summary')?.data.keepFrom
  if (typeof keepFrom !== 'number') return null
  // A message that joined the first kept step came after the step before it was answered.
  const before = await kernel.call('history.read', {
    kinds: ['model.called'],
    before: keepFrom,
    order: 'desc',
    limit: 50,
  })
  return (
    before.events.find((event) => event.data.status === 'completed' || event.data.status === 'incomplete')?.seq ?? null
  )
}

async function* eventsAfter(kernel: Kernel, after: number, kinds: readonly string[]): AsyncGenerator<WireEvent> {
  for (let next: number | null = after; next !== null; ) {
    // Revisions change for the agent, not for a task: hence its scope, less what belongs to another task.
    const page: { events: WireEvent[]; next: number | null } = await kernel.call('history.read', {
      scope: 'agent',
      kinds: [...kinds],
      after: next,
      limit: 500,
      order: 'asc',
    })
    yield* page.events.filter((event) => event.task === kernel.task.task || event.task === null)
    next = page.next
  }
}

/** A result that was too long for its event comes from its blob. */
async function whole(kernel: Kernel, event: WireEvent): Promise<WireEvent> {
  const hash = event.data.outputBlob
  if (event.kind !== 'tool.finished' || typeof hash !== 'string') return event
  const { base64 } = await kernel.call('blob.get', { hash })
  return { ...event, data: { ...event.data, output: Buffer.from(base64, 'base64').toString('utf8') } }
}

async function topicsBefore(kernel: Kernel, at: number): Promise<string[]> {
  const topics: string[] = []
  for (const artifact of (await kernel.call('artifact.list', { prefix: 'memory/' })).artifacts) {
    // A later version hides when the note was first there.
    const versions =
      artifact.at < at ? [artifact] : (await kernel.call('artifact.versions', { name: artifact.name })).versions
    if (versions.some((version) => version.at < at)) topics.push(artifact.name.slice('memory/'.length))
  }
  return topics.sort()
}

/** Before the task began, of tools that were still there when it did; what comes later comes as a message. */
async function retirementsAsked(kernel: Kernel, before: number): Promise<string[]> {
  if (!kernel.task.propose) return []
  const { events } = await kernel.call('history.read', {
    scope: 'agent',
    kinds: ['tool.retirement-asked'],
    before,
    order: 'desc',
    limit: 20,
  })
  if (events.length === 0) return []
  const started = await kernel.call('history.read', { kinds: ['executor.started'], order: 'asc', limit: 1 })
  const there = (started.events[0]?.data.tools ?? []) as { name: string }[]
  const latest = new Map(events.reverse().map((event) => [String(event.data.tool), event]))
  return [...latest.values()].flatMap((event) =>
    there.some((tool) => tool.name === event.data.tool) ? (messageOf(event) ?? []) : [],
  )
}

/** A message of the user's, as both APIs take it. */
export function message(text: string): Item {
  return { role: 'user', content: text }
}

const cutOff = message(CUT_OFF)
const nudge = message(NUDGE)

function follow({ seq, cut, results, messages }: Step): Item[] {
  const notice = cut ? [cutOff] : seq > 0 && results.size === 0 ? [nudge] : []
  return [...[...results.values()].filter((item) => item !== null), ...notice, ...messages]
}

function tokensOf({ uncached, cacheRead, cacheWrite, output }: TokenUsage): number {
  return uncached + cacheRead + cacheWrite + output
}

const hashes = new WeakMap<Item, string>()

/** The name by which the kernel knows an item. */
function hash(item: Item): string {
  const known = hashes.get(item)
  if (known !== undefined) return known
  const fresh = createHash('sha256').update(JSON.stringify(item)).digest('hex')
  hashes.set(item, fresh)
  return fresh
}
