import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import { requestHash, sha256 } from '../store/chain.ts'
import { importedProblem, readImported } from '../store/imported.ts'
import type { Appended, DraftRow, PlacedRequest, WriteOp } from '../store/messages.ts'
import { openStore, type StoreFault } from '../store/store.ts'
import type { Event, EventDraft, EventKind } from '../wire/events.ts'
import { archiveBlobs } from './archive.ts'
import { rowOf } from './drafts.ts'
import { follow } from './follow.ts'
import type { ArtifactWrite, History, StoredRequest } from './history.ts'
import { createReports } from './reports.ts'
import { eventOf, eventsOf } from './rows.ts'

export interface HistoryOptions {
  dataDir: string
  clock: Clock
  /** Version of the program; named to an older one that cannot read what this one wrote. */
  version: string
  /** The writer thread's file, where the program is bundled. */
  writerUrl?: URL | string
}

/** Hashes of blobs known to be stored: they are not sent again. */
const knownBlobs = 100_000
const maxBlobBytes = 256 * 1024 * 1024
const maxSearch = 500
const blobPage = 1_000

/**
 * Opens the history of a data directory, whose lock the caller holds. Where its last events, the signed head or the
 * schema do not verify, it opens for reading only and `problem` says why; nothing is repaired.
 * @throws KernelError `unavailable` where the database cannot be opened, or is of a newer version.
 */
export async function openHistory(options: HistoryOptions): Promise<History> {
  const faultListeners = new Set<(fault: StoreFault) => void>()
  const listeners = new Set<(events: readonly Event[]) => void>()
  const added = new WeakMap<WriteOp, Event[]>()
  const known = new Set<string>()

  const store = await openStore({
    dataDir: options.dataDir,
    version: options.version,
    ...(options.writerUrl === undefined ? {} : { writerUrl: options.writerUrl }),
    onCommit(settled) {
      const events = settled.flatMap(({ op, value }) => {
        const rows = op.op === 'append' ? op.events : op.op === 'archive' ? [op.event] : []
        if (rows.length === 0) return []
        const these = eventsOf(rows, value as Appended)
        added.set(op, these)
        return these
      })
      const last = events.at(-1)
      if (last === undefined) return
      head = { seq: last.seq, hash: last.hash }
      for (const listener of listeners) notify(listener, events)
    },
    onFault(fault) {
      if (fault.fault === 'damaged') problem ??= fault.message
      for (const listener of faultListeners) listener(fault)
    },
  })
  let head = store.head
  let problem = store.problem
  const imported = readImported(options.dataDir)

  async function appendRows(
    drafts: readonly EventDraft[],
    expect: { agent: string; active: string | null } | null,
  ): Promise<Event[]> {
    const at = Math.trunc(options.clock.now())
    const events: DraftRow[] = drafts.map((draft) => rowOf(draft, at))
    if (events.length === 0 && expect === null) return []
    const op: WriteOp = { op: 'append', expect, events }
    await store.write(op)
    return added.get(op) ?? []
  }

  function remember(hash: string): void {
    known.add(hash)
    for (const oldest of known) {
      if (known.size <= knownBlobs) return
      known.delete(oldest)
    }
  }

  const history: History = {
    get problem() {
      return problem
    },
    get imported() {
      return imported !== null && problem === importedProblem(imported) ? imported : null
    },
    append: (drafts) => appendRows(drafts, null),
    appendIfActive: (agent, active, drafts) => appendRows(drafts, { agent, active }),
    head: () => head,
    async get(view, seq) {
      const { rows } = await store.query('read', view, { after: seq - 1, before: seq + 1, limit: 1 })
      return rows[0] === undefined ? null : eventOf(rows[0])
    },
    async read(view, readOptions = {}) {
      const { rows, next } = await store.query('read', view, readOptions)
      return { events: rows.map(eventOf), next }
    },
    async search(view, text, { revision, ...rest } = {}) {
      const revisions = revision === undefined ? {} : { revisions: [revision] }
      const { rows, next } = await store.query('search', view, searchText(text), { ...rest, ...revisions })
      return { events: rows.map(eventOf), next }
    },
    async find(view, text, findOptions = {}) {
      const { rows, next } = await store.query('find', view, text === null ? null : searchText(text), findOptions)
      return { events: rows.map(eventOf), next }
    },
    facets: async (view, text, findOptions = {}) =>
      store.query('facets', view, text === null ? null : searchText(text), findOptions),
    follow: (view, followOptions) => follow(history, view, followOptions),
    onCommit(listener) {
      const own = (events: readonly Event[]) => listener(events)
      listeners.add(own)
      return () => listeners.delete(own)
    },
    async latest<K extends EventKind>(view: Parameters<History['latest']>[0], kind: K, filter: { task?: string } = {}) {
      const { rows } = await store.query('read', view, { ...filter, kinds: [kind], order: 'desc', limit: 1 })
      return rows[0] === undefined ? null : (eventOf(rows[0]) as Event<K>)
    },

    async putBlob(bytes) {
      const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
      if (content.byteLength > maxBlobBytes) {
        throw new KernelError('invalid', `a blob has at most ${maxBlobBytes} bytes, not ${content.byteLength}`)
      }
      const hash = sha256(content)
      if (known.has(hash)) return hash
      await store.write({ op: 'blob', hash, bytes: content })
      remember(hash)
      return hash
    },
    async getBlob(hash) {
      const bytes = await store.query('blob', hash)
      if (bytes === null) throw new KernelError('not-found', `no blob ${hash}`)
      const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      if (sha256(content) !== hash) {
        throw new KernelError('internal', `the stored bytes of blob ${hash} were changed: restore a backup`)
      }
      return content
    },
    hasBlob: (hash) => store.query('hasBlob', hash),
    blobHashes: (after) => store.query('blobHashes', after, blobPage),
    async grantBlob(agent, hash) {
      await store.write({ op: 'grant', agent, hash })
    },
    mayRead: (agent, hash) => store.query('mayRead', agent, hash),

    async putRequest(draft) {
      const itemHashes = draft.items.map(({ json }) => sha256(json))
      const items = draft.items.map(({ kind, json }, index) => {
        const hash = itemHashes[index] as string
        return [kind, hash, known.has(hash) ? null : json] as const
      })
      const { agent, task, model } = draft
      const placed = (await store.write({ op: 'request', agent, task, model, items })) as PlacedRequest
      for (const hash of itemHashes) remember(hash)
      return {
        id: placed.id,
        parent: placed.parent,
        keptItems: placed.kept,
        firstDifference: placed.difference as StoredRequest['firstDifference'],
        itemHashes,
        hash: requestHash(draft.items.map(({ kind }, index) => ({ kind, hash: itemHashes[index] as string }))),
      }
    },
    getRequest: (id) => store.query('request', id),

    ...createReports(store),
    artifactVersions: (agent, name) => store.query('artifactVersions', agent, name),
    artifactWrites: (agent, name = undefined) =>
      store.query('artifactWrites', agent, name ?? null) as Promise<ArtifactWrite[]>,
    artifactNames: (agent, prefix, asOf) => store.query('artifactNames', agent, prefix, asOf),
    revisionsNamed: (by, agent) => store.query('revisionsNamed', by, agent),
    async verify({ full = true, threads } = {}) {
      if (!full) return store.query('verifyRecent')
      const report = await store.verify(threads)
      if (report.of === 'log') problem ??= report.problem
      return report
    },
    onFault(listener) {
      const own = (fault: StoreFault) => listener(fault)
      faultListeners.add(own)
      return () => faultListeners.delete(own)
    },
    async backUp(folder, how) {
      const { head: at, sizeBytes } = await store.backUp(folder, how)
      return { seq: at?.seq ?? 0, sizeBytes }
    },
    archive: (wanted) =>
      archiveBlobs({ store, dataDir: options.dataDir, at: () => Math.trunc(options.clock.now()) }, wanted),
    close: () => store.close(),
  }
  return history
}

function searchText(text: string): string {
  if (text === '' || text.length > maxSearch)
    throw new KernelError('invalid', `search for 1 to ${maxSearch} characters`)
  return text
}

/** One listener's failure is not the others'; nor that of the caller, whose events are on disk. */
function notify(listener: (events: readonly Event[]) => void, events: readonly Event[]): void {
  try {
    listener(events)
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
