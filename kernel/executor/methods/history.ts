import { KernelError } from '../../errors.ts'
import type { ReadOptions } from '../../history/history.ts'
import { draft, type Event, type EventKind, eventKinds } from '../../wire/events.ts'
import type { HistoryPage, HistoryQueryParams, HistoryReadParams, WireEvent } from '../../wire/executor.ts'
import type { Methods } from '../channel.ts'
import type { Running } from '../running.ts'
import { channelLimits } from '../timings.ts'
import { countStored } from './stored.ts'

const defaultLimit = 100
/** A query by status reads so many pages of history at most; `next` then says where to go on. */
const pagesPerQuery = 10

export function historyMethods(
  running: Running,
): Pick<Methods, 'history.read' | 'history.query' | 'history.search' | 'history.append'> {
  const { history } = running.parts
  const view = { agent: running.spec.agent }

  async function read(params: HistoryQueryParams): Promise<HistoryPage> {
    const limit = params.limit ?? defaultLimit
    const order = params.order ?? 'asc'
    const page = new PageInFrame(limit)
    let options: ReadOptions = { ...optionsOf(running, params), limit, order }
    for (let pages = 0; pages < pagesPerQuery; pages += 1) {
      const found = await history.read(view, options)
      for (const event of found.events) {
        if (params.status !== undefined && !hasStatus(event, params.status)) continue
        if (!page.add(event)) return page.upTo()
      }
      if (found.next === null) return page.upTo(null)
      if (page.isFull) return page.upTo()
      options = order === 'asc' ? { ...options, after: found.next } : { ...options, before: found.next }
    }
    return page.upTo((order === 'asc' ? options.after : options.before) ?? null)
  }

  return {
    'history.read': read,
    'history.query': read,
    async 'history.search'({ text, scope, limit }) {
      const page = new PageInFrame(limit ?? defaultLimit)
      const found = await history.search(view, text, {
        limit: limit ?? defaultLimit,
        ...(scope === 'agent' ? {} : { task: running.spec.task.task }),
      })
      for (const event of found.events) if (!page.add(event)) return page.upTo()
      return page.upTo(found.next)
    },
    async 'history.append'(params) {
      countStored(running, Buffer.byteLength(params.data.text))
      const place = running.place('executor')
      const added =
        params.kind === 'note.added' ? draft(params.kind, params.data, place) : draft(params.kind, params.data, place)
      const [event] = await history.append([added])
      if (params.kind === 'message.appended') running.memory.kept.changed()
      return { seq: event?.seq ?? 0 }
    },
  }
}

function optionsOf(running: Running, params: HistoryReadParams & HistoryQueryParams): ReadOptions {
  const { after, before, tool, revision, turn } = params
  const unknown = params.kinds?.find((kind) => !eventKinds.includes(kind as EventKind))
  if (unknown !== undefined) throw new KernelError('invalid', `kinds: there is no kind ${JSON.stringify(unknown)}`)
  return Object.fromEntries(
    Object.entries({
      after,
      before,
      tool,
      revision,
      turn,
      kinds: params.kinds as EventKind[] | undefined,
      task: params.scope === 'agent' ? undefined : running.spec.task.task,
    }).filter(([, value]) => value !== undefined),
  )
}

function hasStatus({ data }: Event, status: string): boolean {
  const of = data as { status?: unknown; outcome?: unknown; verdict?: unknown }
  return of.status === status || of.outcome === status || of.verdict === status
}

/** As many events as the caller asked for and a frame holds. */
class PageInFrame {
  readonly #limit: number
  readonly #events: WireEvent[] = []
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.#events.length >= this.#limit
  }

  /** False where there is no room for it. */
  add(event: Event): boolean {
    const seen = wireEvent(event)
    const bytes = Buffer.byteLength(JSON.stringify(seen))
    if (this.isFull || (this.#events.length > 0 && this.#bytes + bytes > channelLimits.answerBytes)) return false
    this.#events.push(seen)
    this.#bytes += bytes
    return true
  }

  upTo(next: number | null = this.#events.at(-1)?.seq ?? null): HistoryPage {
    return { events: this.#events, next }
  }
}

function wireEvent(event: Event): WireEvent {
  const { seq, at, task, turn, step, actor, revision, kind } = event
  return { seq, at, task, turn, step, actor, revision, kind, data: event.data as WireEvent['data'] }
}
