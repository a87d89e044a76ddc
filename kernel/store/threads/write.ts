import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { releaseBallast } from '../ballast.ts'
import { createCommits } from '../commits.ts'
import { importedProblem, readImported } from '../imported.ts'
import { watchLock } from '../lock.ts'
import type { FromWorker, Head, ToWorker, WorkerSetup, WriteOp } from '../messages.ts'
import { migrate } from '../migrations.ts'
import { readQuarantine } from '../quarantine.ts'
import { createHeadNote, hasSignedHead, readSignedHeads, startSignedHead, writeSignedHead } from '../signed-head.ts'
import { openForWriting } from '../sqlite.ts'
import { headOf, verifyRecent } from '../verify/recent.ts'

/** The head is signed when so many events, or so much time, lie behind the last one, and at the end. */
const signEveryEvents = 1_000
const signEveryMs = 2_000
/** Operations in one commit, so that its callers need not wait for ever. */
const groupLimit = 512
const readingOnly = 'history is open for reading only, because it failed verification'
const revoked =
  'nothing was added: lock.db was moved or replaced, so another Exodesk may be using this data directory. Quit this one'

/** The one thread that writes. */
export function write(port: MessagePort, { dataDir, version }: WorkerSetup): void {
  const send = (message: FromWorker) => port.postMessage(message)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const db = openForWriting(join(dataDir, 'history.db'))
  migrate(db, version)
  if (headOf(db) === null && !hasSignedHead(dataDir)) startSignedHead(dataDir)
  // Nothing is mended: what is left is evidence, and to be read.
  const imported = readImported(dataDir)
  const fault = verifyRecent(db, dataDir).problem ?? readQuarantine(dataDir)
  let problem = fault ?? (imported === null ? null : importedProblem(imported))
  const commits = createCommits(db)
  const isLocked = watchLock(dataDir)
  const signer = problem === null ? createSigner(dataDir, commits.head, isLocked) : null
  let waiting: { id: number; op: WriteOp }[] = []
  let isScheduled = false

  function flush(): void {
    if (waiting.length === 0) return
    const group = waiting.slice(0, groupLimit)
    waiting = waiting.slice(groupLimit)
    isScheduled = waiting.length > 0
    if (isScheduled) setImmediate(flush)
    const refused =
      problem !== null
        ? `${problem === fault || imported === null ? readingOnly : 'history is open for reading only'}: ${problem}`
        : isLocked()
          ? null
          : revoked
    if (refused !== null) {
      send(refuseAll(group, refused))
      return
    }
    let result = commits.run(group)
    if (result.fault === 'disk-full') {
      const message = refusal(result.outcomes)
      // Room that was kept for this: what is in hand is recorded, and whoever hears of it stops the work.
      const isWritten = releaseBallast(dataDir)
      if (isWritten) result = commits.run(group)
      send({ type: 'fault', fault: 'disk-full', message, isWritten: isWritten && result.fault === null })
    } else if (result.fault === 'damaged') {
      problem = refusal(result.outcomes)
      send({ type: 'fault', fault: 'damaged', message: problem, isWritten: false })
    }
    signer?.note()
    send({ type: 'settled', outcomes: result.outcomes, head: commits.head() })
    signer?.afterCommit()
  }

  port.on('message', (message: ToWorker) => {
    if (message.type === 'write') {
      waiting.push(...message.ops)
      // After the messages that are here already: they go into the same commit.
      if (!isScheduled) setImmediate(flush)
      isScheduled = true
    } else if (message.type === 'quarantine') {
      problem ??= message.problem
    } else if (message.type === 'close') {
      while (waiting.length > 0) flush()
      signer?.stop()
      db.close()
      send({ type: 'closed' })
      port.close()
    }
  })
  send({ type: 'ready', head: commits.head(), problem })
}

function refusal(outcomes: Extract<FromWorker, { type: 'settled' }>['outcomes']): string {
  const [first] = outcomes
  return first !== undefined && !first.ok ? first.message : ''
}

function refuseAll(ops: readonly { id: number }[], message: string): FromWorker {
  return {
    type: 'settled',
    outcomes: ops.map(({ id }) => ({ id, ok: false, code: 'unavailable', message })),
    head: null,
  }
}

function createSigner(dataDir: string, head: () => Head | null, isLocked: () => boolean) {
  const signed = readSignedHeads(dataDir).head
  let signedSeq = 'head' in signed ? signed.head.seq : 0
  let notedSeq = 0
  let timer: NodeJS.Timeout | null = null
  const note = createHeadNote(dataDir)
  function sign(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const now = head()
    if (now === null || now.seq === signedSeq || !isLocked()) return
    // The events are safe; only their end is unsigned until the next try succeeds.
    attempt('signed', () => {
      writeSignedHead(dataDir, now)
      signedSeq = now.seq
    })
  }
  sign()
  return {
    note(): void {
      const now = head()
      if (now === null || now.seq === notedSeq) return
      attempt('noted', () => {
        note.write(now)
        notedSeq = now.seq
      })
    },
    afterCommit(): void {
      if ((head()?.seq ?? 0) - signedSeq >= signEveryEvents) sign()
      else timer ??= setTimeout(sign, signEveryMs)
    },
    stop(): void {
      sign()
      note.close()
    },
  }
}

function attempt(what: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    process.emitWarning(`the head of history could not be ${what}: ${(error as Error).message}`)
  }
}
