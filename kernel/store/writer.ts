// Entry of the store's threads; the bundle makes a file of it. One of them writes, the others read.
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { KernelError } from '../errors.ts'
import { createCommits } from './commits.ts'
import { watchLock } from './lock.ts'
import type { FromWorker, Head, Outcome, ToWorker, WorkerSetup, WriteOp } from './messages.ts'
import { migrate } from './migrations.ts'
import { createQueries } from './queries.ts'
import { hasSignedHead, readSignedHead, startSignedHead, writeSignedHead } from './signed-head.ts'
import { type Connection, explain, openForReading, openForWriting } from './sqlite.ts'
import { verifyHistory } from './verification.ts'

/** The head is signed when so many events, or so much time, lie behind the last one, and at the end. */
const signEveryEvents = 1_000
const signEveryMs = 2_000
/** Operations in one commit, so that its callers need not wait for ever. */
const groupLimit = 512
const readingOnly = 'history is open for reading only, because it failed verification'
const revoked =
  'nothing was added: lock.db was moved or replaced, so another Exodesk may be using this data directory. Quit this one'

if (parentPort === null) throw new Error('kernel/store/writer.ts is the entry of a worker thread')
const port = parentPort
const { role, dataDir, version } = workerData as WorkerSetup
const file = join(dataDir, 'history.db')
const send = (message: FromWorker) => port.postMessage(message)

try {
  if (role === 'writer') write()
  else read()
} catch (error) {
  const { code, message } = explain(error, file)
  send({ type: 'refused', code, message })
  port.close()
}

function write(): void {
  const db = openForWriting(file)
  migrate(db, version)
  if (isNew(db)) startSignedHead(dataDir)
  const { problem } = verifyHistory(db, dataDir, false)
  if (problem !== null) {
    // Nothing is mended here: what is left is evidence, and to be read.
    port.on('message', (message: ToWorker) => {
      if (message.type === 'write') send(refuseAll(message.ops, `${readingOnly}: ${problem}`))
      if (message.type === 'close') close(db)
    })
    send({ type: 'ready', head: headOf(db), problem })
    return
  }
  const commits = createCommits(db)
  const isLocked = watchLock(dataDir)
  const signer = createSigner(commits.head, isLocked)
  let waiting: { id: number; op: WriteOp }[] = []
  let isScheduled = false

  function flush(): void {
    if (waiting.length === 0) return
    const group = waiting.slice(0, groupLimit)
    waiting = waiting.slice(groupLimit)
    isScheduled = waiting.length > 0
    if (isScheduled) setImmediate(flush)
    send(
      isLocked() ? { type: 'settled', outcomes: commits.run(group), head: commits.head() } : refuseAll(group, revoked),
    )
    signer.afterCommit()
  }

  port.on('message', (message: ToWorker) => {
    if (message.type === 'write') {
      waiting.push(...message.ops)
      // After the messages that are here already: they go into the same commit.
      if (!isScheduled) setImmediate(flush)
      isScheduled = true
    } else if (message.type === 'close') {
      while (waiting.length > 0) flush()
      signer.stop()
      close(db)
    }
  })
  send({ type: 'ready', head: commits.head(), problem: null })
}

function read(): void {
  // At the first question: until the writer is ready there may be no database.
  let db: Connection | null = null
  let queries: ReturnType<typeof createQueries> | null = null
  function run(query: string, args: unknown[]): unknown {
    db ??= openForReading(file)
    queries ??= createQueries(db, dataDir)
    return queries.run(query, args)
  }
  port.on('message', (message: ToWorker) => {
    if (message.type === 'close') return close(db)
    if (message.type !== 'read') return
    send({ type: 'settled', outcomes: [answer(message.id, () => run(message.query, message.args))], head: null })
  })
  send({ type: 'ready', head: null, problem: null })
}

function answer(id: number, query: () => unknown): Outcome {
  try {
    return { id, ok: true, value: query() }
  } catch (error) {
    const { code, message } = error instanceof KernelError ? error : explain(error, file)
    return { id, ok: false, code, message }
  }
}

function refuseAll(ops: readonly { id: number }[], message: string): FromWorker {
  return {
    type: 'settled',
    outcomes: ops.map(({ id }) => ({ id, ok: false, code: 'unavailable', message })),
    head: null,
  }
}

function createSigner(head: () => Head | null, isLocked: () => boolean) {
  const signed = readSignedHead(dataDir)
  let signedSeq = 'head' in signed ? signed.head.seq : 0
  let timer: NodeJS.Timeout | null = null
  function sign(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const now = head()
    if (now === null || now.seq === signedSeq || !isLocked()) return
    try {
      writeSignedHead(dataDir, now)
      signedSeq = now.seq
    } catch (error) {
      // The events are safe; only their end is unsigned until the next try succeeds.
      process.emitWarning(`the head of history could not be signed: ${(error as Error).message}`)
    }
  }
  sign()
  return {
    afterCommit(): void {
      if ((head()?.seq ?? 0) - signedSeq >= signEveryEvents) sign()
      else timer ??= setTimeout(sign, signEveryMs)
    },
    stop: sign,
  }
}

function isNew(db: Connection): boolean {
  return headOf(db) === null && !hasSignedHead(dataDir)
}

function headOf(db: Connection): Head | null {
  return (db.prepare('SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1').get() as Head | undefined) ?? null
}

function close(db: Connection | null): void {
  db?.close()
  send({ type: 'closed' })
  port.close()
}
