import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { KernelError } from '../errors.ts'
import type { EventPlace } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { History } from '../history/history.ts'
import type { SandboxProvider, TaskPlace } from '../sandbox/sandbox.ts'
import { readText, replaceFile, syncFolder } from '../store/files.ts'
import { draft, type Event } from '../wire/events.ts'
import type { SnapshotRef } from '../wire/executor.ts'

export interface SnapshotParts {
  history: History
  provider: SandboxProvider
  place: TaskPlace
  agent: string
  task: string
  /** The world's whole state, and back; null where the task has none. */
  world: { state(): Promise<string | null>; load(state: string): Promise<void> }
  /** Says which restore is under way, while one is; no box mounts it. */
  intent: string
}

interface Intent {
  name: string
  /** Of the latest `sandbox.restored` before it; 0: none. */
  after: number
}

/** A provider keeps 20 of a task; one is the grader's. */
const namesMax = 19

type Taken = Event<'sandbox.snapshotted'>

/**
 * Snapshots of one task: the sandbox as its provider keeps it, and the world's state beside it. What counts is the event:
 * each is kept by the provider under a name of its own, so that a kill in between leaves the earlier one of the name whole.
 */
export class Snapshots {
  readonly #parts: SnapshotParts
  #queue: Promise<unknown> = Promise.resolve()

  constructor(parts: SnapshotParts) {
    this.#parts = parts
  }

  /** Forgets what no event speaks of: a kill came before it was acknowledged. */
  async open(): Promise<void> {
    const { provider, place } = this.#parts
    const states = new Set((await this.#taken()).map(({ data }) => data.state))
    for (const { name } of await provider.snapshots(place)) if (!states.has(name)) await provider.forget(place, name)
  }

  list(): Promise<SnapshotRef[]> {
    return this.#inTurn(async () => (await this.#present()).map(refOf))
  }

  /** In place of an earlier one of the name. @throws KernelError `conflict` (too many), `invalid`, `unavailable`. */
  take(name: string, place: EventPlace): Promise<SnapshotRef> {
    return this.#inTurn(async () => {
      const { history, provider, world } = this.#parts
      const present = await this.#present()
      if (present.length >= namesMax && !present.some(({ data }) => data.name === name)) {
        const names = present.map(({ data }) => data.name).join(', ')
        const text = `there are ${present.length} snapshots: give this one the name of one that may go (${names})`
        throw new KernelError('conflict', text)
      }
      const saved = await world.state()
      const state = await this.#nextState()
      const { sizeBytes } = await provider.snapshot(this.#parts.place, state)
      failpoint('snapshot:before-event')
      const blob = saved === null ? null : await history.putBlob(saved)
      const data = { name, sizeBytes, world: blob, state }
      const [event] = await history.append([draft('sandbox.snapshotted', data, place)])
      failpoint('snapshot:before-forget')
      for (const old of present)
        if (old.data.name === name) await provider.forget(this.#parts.place, old.data.state ?? name)
      return { name, sizeBytes, at: event?.at ?? 0 }
    })
  }

  /** The sandbox alone. */
  keep(name: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#parts.provider.snapshot(this.#parts.place, name)
    })
  }

  /**
   * Sandbox and world as they were; both stay as they are where either cannot be had.
   * @throws KernelError `not-found`, `unavailable`.
   */
  restore(name: string, place: EventPlace, rest: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      const { history, world } = this.#parts
      const present = await this.#present()
      const taken = present.find(({ data }) => data.name === name)
      if (taken === undefined) {
        const names = present.map(({ data }) => data.name).join(', ') || 'none'
        throw new KernelError('not-found', `there is no snapshot ${name}; there are: ${names}`)
      }
      const wanted = taken.data.world ? (await history.getBlob(taken.data.world)).toString('utf8') : null
      await rest()
      const before = wanted === null ? null : await world.state()
      // A kill from here on leaves the world and the sandbox of two moments: `complete` makes them one again.
      const intent: Intent = { name, after: await this.#lastRestored() }
      replaceFile(this.#parts.intent, JSON.stringify(intent))
      try {
        await this.#bring(taken, wanted, before)
        failpoint('restore:before-event')
        await history.append([draft('sandbox.restored', { name }, place)])
        failpoint('restore:before-end')
      } finally {
        // Whatever became of it, the task goes on from here: completed later, it would take along what is done since.
        this.#forgetIntent()
      }
    })
  }

  async #bring({ data }: Taken, wanted: string | null, before: string | null): Promise<void> {
    const { provider, place, world } = this.#parts
    try {
      if (wanted !== null) await world.load(wanted)
      failpoint('restore:before-sandbox')
      await provider.restore(place, data.state ?? data.name)
    } catch (error) {
      if (before !== null) await world.load(before)
      throw error
    }
  }

  /** Ends a restore that a kill has cut, before anything else runs in the task; the world answers by now. */
  complete(): Promise<void> {
    return this.#inTurn(async () => {
      const { history, provider, world, agent, task } = this.#parts
      const text = readText(this.#parts.intent)
      if (text === null) return
      const { name, after } = JSON.parse(text) as Intent
      const taken = (await this.#present()).find(({ data }) => data.name === name)
      if (taken !== undefined && (await this.#lastRestored()) === after) {
        if (taken.data.world) await world.load((await history.getBlob(taken.data.world)).toString('utf8'))
        await provider.restore(this.#parts.place, taken.data.state ?? name)
        await history.append([draft('sandbox.restored', { name }, { actor: 'kernel', agent, task, run: 'task' })])
      }
      this.#forgetIntent()
    })
  }

  #forgetIntent(): void {
    rmSync(this.#parts.intent, { force: true })
    syncFolder(dirname(this.#parts.intent))
  }

  async #lastRestored(): Promise<number> {
    const { history, agent, task } = this.#parts
    return (await history.latest({ agent }, 'sandbox.restored', { task }))?.seq ?? 0
  }

  /** Those that there are, oldest first: the latest event of each name whose state the provider has. */
  async #present(): Promise<Taken[]> {
    const { provider, place } = this.#parts
    const names = new Set((await provider.snapshots(place)).map(({ name }) => name))
    return (await this.#taken()).filter(({ data }) => names.has(data.state ?? data.name))
  }

  async #taken(): Promise<Taken[]> {
    const { history, agent, task } = this.#parts
    const latest = new Map<string, Taken>()
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent }, { task, kinds: ['sandbox.snapshotted'], after, limit: 1000 })
      for (const event of page.events as Taken[]) {
        latest.delete(event.data.name)
        latest.set(event.data.name, event)
      }
      after = page.next
    }
    return [...latest.values()]
  }

  async #nextState(): Promise<string> {
    const { history, agent, task, provider, place } = this.#parts
    const last = await history.latest({ agent }, 'sandbox.snapshotted', { task })
    const kept = await provider.snapshots(place)
    const numbers = [last?.data.state ?? '', ...kept.map(({ name }) => name)].map(numberOf)
    return `s-${Math.max(0, ...numbers) + 1}`
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }
}

function numberOf(state: string): number {
  return Number(/^s-(\d+)$/.exec(state)?.[1] ?? 0)
}

function refOf({ at, data }: Taken): SnapshotRef {
  return { name: data.name, sizeBytes: data.sizeBytes, at }
}
