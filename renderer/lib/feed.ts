import type { EventRow } from '../../kernel/wire/operator.ts'

export interface FeedState {
  /** In `seq` order, without gap from the first to the last. */
  events: readonly EventRow[]
  /** Whether history holds older events than the first one here. */
  hasEarlier: boolean
  /** True once the first page is in. */
  isLoaded: boolean
  error: string | null
}

interface FeedOptions {
  /** Newest events that are kept while the reader follows. */
  keep?: number
  /** Most that are ever held, earlier pages included. */
  max?: number
  /** Runs a flush later, once; a frame in the page. */
  schedule?: (flush: () => void) => void
}

/**
 * The events of one task as a bounded list. Whatever arrives between two frames becomes one new state, so a burst of
 * events costs one render.
 */
export class Feed {
  private state: FeedState = { events: [], hasEarlier: false, isLoaded: false, error: null }
  private pending: EventRow[] = []
  private isScheduled = false
  private isHeld = false
  private readonly listeners = new Set<() => void>()
  private readonly keep: number
  private readonly max: number
  private readonly schedule: (flush: () => void) => void

  constructor(options: FeedOptions = {}) {
    this.keep = options.keep ?? 5000
    this.max = options.max ?? 20_000
    this.schedule = options.schedule ?? ((flush) => requestAnimationFrame(flush))
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  snapshot = (): FeedState => this.state

  /** The newest page, given once, before anything is pushed. */
  load(events: readonly EventRow[], hasEarlier: boolean): void {
    this.set({ events, hasEarlier, isLoaded: true, error: null })
  }

  /** Newer events, from `follow`. */
  push(events: readonly EventRow[]): void {
    this.pending.push(...events)
    if (this.isScheduled) return
    this.isScheduled = true
    this.schedule(() => this.flush())
  }

  /** An older page that ends just before the first event here. */
  prepend(events: readonly EventRow[], hasEarlier: boolean): void {
    const first = this.state.events[0]?.seq ?? Number.POSITIVE_INFINITY
    const older = events.filter((event) => event.seq < first)
    this.set({ ...this.state, events: [...older, ...this.state.events], hasEarlier })
  }

  get isFull(): boolean {
    return this.state.events.length >= this.max
  }

  /** While the reader looks at older rows nothing is dropped from the front under their eyes. */
  hold(isHeld: boolean): void {
    this.isHeld = isHeld
  }

  fail(error: string | null): void {
    if (this.state.error !== error) this.set({ ...this.state, error })
  }

  private flush(): void {
    this.isScheduled = false
    const last = this.state.events.at(-1)?.seq ?? 0
    const fresh = this.pending.filter((event) => event.seq > last)
    this.pending = []
    if (fresh.length === 0) return
    const all = [...this.state.events, ...fresh]
    const limit = this.isHeld ? this.max : this.keep
    const dropped = Math.max(0, all.length - limit)
    this.set({
      events: dropped > 0 ? all.slice(dropped) : all,
      hasEarlier: this.state.hasEarlier || dropped > 0,
      isLoaded: true,
      error: null,
    })
  }

  private set(state: FeedState): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }
}
