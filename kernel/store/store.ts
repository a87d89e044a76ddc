import { mkdirSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { KernelError } from '../errors.ts'
import type { FromWorker, Head, Outcome, ToWorker, WorkerSetup, WriteOp } from './messages.ts'
import type { Queries } from './queries.ts'

export interface StoreOptions {
  dataDir: string
  /** Version of the program, kept with the schema that it made. */
  version: string
  /** The writer's file, where the program is bundled. Default: the source beside this file. */
  writerUrl?: URL | string
  /** Called with each commit that added something, in order, before its callers' promises settle. */
  onCommit: (settled: Settled[]) => void
}

/** One operation that is on disk. */
export interface Settled {
  op: WriteOp
  value: unknown
}

export interface Store {
  /** The last event at open. */
  readonly head: Head | null
  /** Why the history is open for reading only; null: it is not. */
  readonly problem: string | null
  /** Settles once the operation is on disk, or refused with nothing added. */
  write(op: WriteOp): Promise<unknown>
  /** Sees every write that has settled. */
  query<Q extends keyof Queries>(name: Q, ...args: Parameters<Queries[Q]>): Promise<ReturnType<Queries[Q]>>
  /** Lets what is waiting be written, then ends the threads. */
  close(): Promise<void>
}

/**
 * Opens DATA/history.db, making or migrating it. The caller holds the directory's lock (`holdLock`).
 * @throws KernelError `unavailable` where it cannot be opened, is damaged beyond reading, or is of a newer version.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
  const start = (role: WorkerSetup['role']) =>
    startThread(options, { role, dataDir: options.dataDir, version: options.version })
  const reader = start('reader')
  // Whoever asks it gets the reason; until then nobody need.
  reader.catch(() => undefined)
  const writer = await start('writer').catch(async (error: unknown) => {
    await reader.then((thread) => thread.close())
    throw error
  })
  // What reads much of the log must not delay what reads a page of it.
  let scanner: Promise<Thread> | null = null
  const verifying = new Set<Promise<Thread>>()
  let isClosed = false
  let unsent: { id: number; op: WriteOp }[] = []

  writer.onSettled = (ids) => {
    if (ids.length > 0) options.onCommit(ids)
  }

  /** Rare, and long where the log is: in a thread of its own, so that no search waits for it. */
  async function apart(send: (thread: Thread) => Promise<unknown>): Promise<unknown> {
    const starting = start('reader')
    verifying.add(starting)
    const thread = await starting
    try {
      return await send(thread)
    } finally {
      verifying.delete(starting)
      await thread.close()
    }
  }

  return {
    head: writer.ready.head,
    problem: writer.ready.problem,
    write(op) {
      return writer.call((id) => {
        // One message for all that is written in this turn of the loop.
        if (unsent.push({ id, op }) === 1) {
          queueMicrotask(() => {
            writer.post({ type: 'write', ops: unsent })
            unsent = []
          })
        }
      }, op)
    },
    async query(name, ...args) {
      const send = (thread: Thread) => thread.call((id) => thread.post({ type: 'read', id, query: name, args }))
      if (isClosed) throw new KernelError('unavailable', 'the store is closed')
      if (name === 'verify') return (await apart(send)) as ReturnType<Queries[typeof name]>
      if (name === 'search') scanner ??= start('reader')
      const thread = await (name === 'search' ? (scanner as Promise<Thread>) : reader)
      return (await send(thread)) as ReturnType<Queries[typeof name]>
    },
    async close() {
      isClosed = true
      // A verification may have minutes to go.
      await Promise.all([...verifying].map(async (thread) => (await thread).terminate()))
      await Promise.all([reader.then((thread) => thread.close()), scanner?.then((thread) => thread.close())])
      await writer.close()
    },
  }
}

interface Thread {
  ready: Extract<FromWorker, { type: 'ready' }>
  onSettled: (settled: Settled[]) => void
  call(send: (id: number) => void, op?: WriteOp): Promise<unknown>
  post(message: ToWorker): void
  close(): Promise<void>
  /** At once; whoever waits is told that the store is closed. */
  terminate(): Promise<void>
}

interface Pending {
  op: WriteOp | undefined
  resolve: (value: unknown) => void
  reject: (error: KernelError) => void
}

async function startThread(options: StoreOptions, setup: WorkerSetup): Promise<Thread> {
  const worker = new Worker(options.writerUrl ?? sourceUrl(), {
    workerData: setup,
    name: `history-${setup.role}`,
    // Not the program's own, some of which are no flags for a worker.
    execArgv: [],
  })
  const pending = new Map<number, Pending>()
  let lastId = 0
  let stopped: KernelError | null = null

  const ready = await new Promise<Thread['ready']>((resolve, reject) => {
    worker.once('message', (message: FromWorker) => {
      if (message.type === 'ready') resolve(message)
      else if (message.type === 'refused') reject(new KernelError(message.code, message.message))
    })
    worker.once('error', (error) =>
      reject(new KernelError('unavailable', `the store cannot start: ${error.message}`, { cause: error })),
    )
    worker.once('exit', () =>
      reject(new KernelError('unavailable', 'the store cannot start: its thread ended at once. Build again and retry')),
    )
  })

  function stop(error: KernelError): void {
    stopped ??= error
    for (const { reject } of pending.values()) reject(stopped)
    pending.clear()
  }

  const thread: Thread = {
    ready,
    onSettled: () => undefined,
    call(send, op) {
      if (stopped !== null) return Promise.reject(stopped)
      lastId += 1
      const id = lastId
      return new Promise((resolve, reject) => {
        pending.set(id, { op, resolve, reject })
        send(id)
      })
    },
    post: (message) => worker.postMessage(message),
    async close() {
      if (stopped !== null) return
      const exited = new Promise((resolve) => worker.once('exit', resolve))
      thread.post({ type: 'close' })
      await exited
    },
    async terminate() {
      await worker.terminate()
    },
  }

  worker.on('message', (message: FromWorker) => {
    if (message.type !== 'settled') return
    const outcomes = message.outcomes.map((outcome) => ({ outcome, pending: take(pending, outcome) }))
    thread.onSettled(
      outcomes.flatMap(({ outcome, pending }) =>
        outcome.ok && pending.op !== undefined ? [{ op: pending.op, value: outcome.value }] : [],
      ),
    )
    for (const { outcome, pending } of outcomes) {
      if (outcome.ok) pending.resolve(outcome.value)
      else {
        const details = outcome.details === undefined ? {} : { details: outcome.details }
        pending.reject(new KernelError(outcome.code, outcome.message, details))
      }
    }
  })
  worker.on('error', (error) =>
    stop(new KernelError('unavailable', `the store has stopped: ${error.message}; restart Exodesk`, { cause: error })),
  )
  worker.on('exit', () => stop(new KernelError('unavailable', 'the store is closed')))
  return thread
}

function take(pending: Map<number, Pending>, outcome: Outcome): Pending {
  const found = pending.get(outcome.id)
  if (found === undefined) throw new KernelError('internal', `the store answered ${outcome.id}, which nobody asked`)
  pending.delete(outcome.id)
  return found
}

/** Kept out of the bundler's sight: a bundle is told where its own writer is. */
function sourceUrl(): URL {
  const here = import.meta.url
  return new URL('./writer.ts', here)
}
