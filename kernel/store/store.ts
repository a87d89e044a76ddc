import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { KernelError } from '../errors.ts'
import { type Backup, dropBackup, keepBackup } from './backup.ts'
import type { FromWorker, Head, Outcome, ToWorker, WorkerSetup, WriteOp } from './messages.ts'
import { setQuarantine } from './quarantine.ts'
import type { Queries } from './queries.ts'
import { passing } from './sqlite.ts'
import type { Verification } from './verify/finding.ts'
import { type Reader, type VerifyPart, verifyFully } from './verify/full.ts'

export interface StoreOptions {
  dataDir: string
  /** Version of the program, kept with the schema that it made. */
  version: string
  /** The writer's file, where the program is bundled. Default: the source beside this file. */
  writerUrl?: URL | string
  /** Called with each commit that added something, in order, before its callers' promises settle. */
  onCommit: (settled: Settled[]) => void
  /** Called when the disk is full, or a damaged file keeps the writer from writing. */
  onFault?: (fault: StoreFault) => void
}

export type StoreFault = Omit<Extract<FromWorker, { type: 'fault' }>, 'type'>

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
  /** Over all of it, in `threads` threads of its own. What is found in the log itself ends all writing, here and at later starts. */
  verify(threads?: number): Promise<Verification>
  /** Copies it into a new folder, and verifies it there. @throws KernelError `conflict` (the folder exists), `unavailable`. */
  backUp(folder: string, options?: { verify?: boolean }): Promise<Backup>
  /** Lets what is waiting be written, then ends the threads. */
  close(): Promise<void>
}

/** Beside the writer and the readers; more would only take from them. */
const verifyThreads = Math.max(2, Math.min(4, availableParallelism()))
/** How far the index of words may lie behind while events keep coming, ms. */
const indexEveryMs = 1_000

/**
 * Opens DATA/history.db, making or migrating it. The caller holds the directory's lock (`holdLock`).
 * @throws KernelError `unavailable` where it cannot be opened, is damaged beyond reading, or is of a newer version.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const start = (role: WorkerSetup['role']) =>
    startThread(options.writerUrl, { role, dataDir: options.dataDir, version: options.version })
  const reader = start('reader')
  // Whoever asks it gets the reason; until then nobody need.
  reader.catch(() => undefined)
  const writer = await start('writer').catch(async (error: unknown) => {
    await reader.then((thread) => thread.close())
    throw error
  })
  const { head, problem } = writer.ready
  // What reads much of the log must not delay what reads a page of it.
  let scanner: Promise<Thread> | null = null
  const verifying = new Set<Thread>()
  let isClosed = false
  let unsent: { id: number; op: WriteOp }[] = []
  const indexer = problem === null ? createIndexer(() => start('indexer')) : null

  writer.onSettled = (ids) => {
    if (ids.length === 0) return
    options.onCommit(ids)
    indexer?.wake()
  }
  writer.onFault = (fault) => options.onFault?.(fault)
  if (head !== null) indexer?.wake()

  /** Of a history that is damaged, what there is: then its reader is told by the damaged one. */
  async function verifyBackup(folder: string): Promise<void> {
    const dataDir = `${folder}.part`
    const copy = { dataDir, version: options.version, file: join(dataDir, 'history.db') }
    const { writerUrl } = options
    const verified = await verifyStore(writerUrl === undefined ? copy : { ...copy, writerUrl })
    if (verified.ok || problem !== null) return
    dropBackup(folder)
    throw new KernelError('unavailable', `the backup does not verify, and was removed: ${verified.problem}`)
  }

  return {
    head,
    problem,
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
      if (isClosed) throw closed()
      const isScan = name === 'search' || name === 'find' || name === 'facets'
      if (isScan) scanner ??= start('reader')
      const thread = await (isScan ? (scanner as Promise<Thread>) : reader)
      return ask(thread, name, ...args)
    },
    async verify(threads = verifyThreads) {
      if (isClosed) throw closed()
      const found = await verifyInThreads(
        () => start('reader'),
        threads,
        verifying,
        () => isClosed,
      )
      if (found.of === 'log') writer.post({ type: 'quarantine', problem: found.problem ?? '' })
      keepFinding(options.dataDir, found)
      return found
    },
    async backUp(folder, { verify = true } = {}) {
      if (isClosed) throw closed()
      const thread = await start('backup')
      verifying.add(thread)
      try {
        const backup = (await thread.call((id) =>
          thread.post({ type: 'read', id, query: 'backUp', args: [folder] }),
        )) as Backup
        if (verify) await verifyBackup(folder)
        keepBackup(folder)
        return backup
      } finally {
        verifying.delete(thread)
        await thread.close()
      }
    },
    async close() {
      isClosed = true
      // A verification may have minutes to go.
      await Promise.all([...verifying].map((thread) => thread.terminate()))
      await Promise.all([
        reader.then((thread) => thread.close()),
        scanner?.then((thread) => thread.close()),
        indexer?.close(),
      ])
      await writer.close()
    },
  }
}

/** Verifies a history that nobody need hold, by its database at `file`, and writes nothing. */
export async function verifyStore(options: {
  dataDir: string
  version: string
  file: string
  writerUrl?: URL | string
}): Promise<Verification> {
  const { dataDir, version, file } = options
  const start = () => startThread(options.writerUrl, { role: 'reader', dataDir, version, file })
  return verifyInThreads(start, verifyThreads, new Set(), () => false)
}

/** The threads of a verification, for measuring parts of it without their start. */
export async function startVerifier(dataDir: string, version: string) {
  const start = () => startThread(undefined, { role: 'reader', dataDir, version })
  const threads = await Promise.all(Array.from({ length: verifyThreads }, start))
  return {
    verify: (only: readonly VerifyPart[]): Promise<Verification> => verifyFully(threads.map(readerOf), only),
    async close(): Promise<void> {
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}

const readerOf = (thread: Thread): Reader => ({ ask: (name, ...args) => ask(thread, name, ...args) })

async function verifyInThreads(
  start: () => Promise<Thread>,
  count: number,
  verifying: Set<Thread>,
  isClosed: () => boolean,
): Promise<Verification> {
  const threads = await Promise.all(Array.from({ length: count }, start))
  for (const thread of threads) verifying.add(thread)
  try {
    if (isClosed()) throw closed()
    return await verifyFully(threads.map(readerOf))
  } finally {
    for (const thread of threads) {
      verifying.delete(thread)
      await thread.close()
    }
  }
}

/** What was found holds for later starts too. A disk that takes no note of it finds it again. */
function keepFinding(dataDir: string, found: Verification): void {
  try {
    if (found.of === 'log') setQuarantine(dataDir, found.problem)
    else if (found.ok) setQuarantine(dataDir, null)
  } catch (error) {
    process.emitWarning(`the finding could not be noted: ${(error as Error).message}`)
  }
}

async function ask<Q extends keyof Queries>(
  thread: Thread,
  name: Q,
  ...args: Parameters<Queries[Q]>
): Promise<ReturnType<Queries[Q]>> {
  const answer = await thread.call((id) => thread.post({ type: 'read', id, query: name, args }))
  return answer as ReturnType<Queries[Q]>
}

/** Started with the first event, and woken so often at most: where nothing happens, nothing runs. */
function createIndexer(start: () => Promise<Thread>) {
  let thread: Promise<Thread> | null = null
  let timer: NodeJS.Timeout | null = null
  const wake = (): void => {
    timer = null
    thread ??= start()
    thread.then(
      (started) => started.post({ type: 'wake' }),
      (error: unknown) => process.emitWarning(`there is no search index: ${(error as Error).message}`),
    )
  }
  return {
    wake(): void {
      timer ??= setTimeout(wake, indexEveryMs).unref()
    },
    async close(): Promise<void> {
      if (timer !== null) clearTimeout(timer)
      timer = null
      await thread?.then(
        (started) => started.close(),
        () => undefined,
      )
    },
  }
}

interface Thread {
  ready: Extract<FromWorker, { type: 'ready' }>
  onSettled: (settled: Settled[]) => void
  onFault: (fault: StoreFault) => void
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

async function startThread(writerUrl: URL | string | undefined, setup: WorkerSetup): Promise<Thread> {
  const worker = new Worker(writerUrl ?? sourceUrl(), {
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
    onFault: () => undefined,
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
    if (message.type === 'fault') thread.onFault(message)
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
  worker.on('error', (error) => {
    const message = `the store has stopped: ${error.message}; restart Exodesk`
    stop(new KernelError('unavailable', message, { cause: error, details: passing }))
  })
  worker.on('exit', () => stop(closed()))
  return thread
}

const closed = () => new KernelError('unavailable', 'the store is closed', { details: passing })

function take(pending: Map<number, Pending>, outcome: Outcome): Pending {
  const found = pending.get(outcome.id)
  if (found === undefined) throw new KernelError('internal', `the store answered ${outcome.id}, which nobody asked`)
  pending.delete(outcome.id)
  return found
}

/** Kept out of the bundler's sight: a bundle is told where its own writer is, and so is a test (testing/store-thread.ts). */
function sourceUrl(): URL | string {
  const here = import.meta.url
  return process.env.EXODESK_STORE_THREAD ?? new URL('./writer.ts', here)
}
