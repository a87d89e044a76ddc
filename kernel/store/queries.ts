import { KernelError } from '../errors.ts'
import { type ArchivedBlob, readArchived } from './archives.ts'
import { createCostQueries } from './cost-queries.ts'
import { lineage } from './lineage.ts'
import { createPages, type FindOptions, type PageOptions, type PageRows, type PageView } from './pages.ts'
import { itemsOf } from './requests.ts'
import { facetsOf } from './search/facets.ts'
import { createSearch } from './search/search.ts'
import { readSignedHeads } from './signed-head.ts'
import { plainSums, spendColumns, spendSums } from './spend.ts'
import type { Connection } from './sqlite.ts'
import { checkBlobs } from './verify/blobs.ts'
import { checkRange } from './verify/chain.ts'
import { checkDerived } from './verify/derived.ts'
import { type Finding, unreadable, type Verification } from './verify/finding.ts'
import { checkEnds, verifyRecent } from './verify/recent.ts'
import { checkRequests } from './verify/requests.ts'
import { checkStructure } from './verify/structure.ts'

export interface Scope {
  task?: string
  agent?: string
}

export interface ArtifactRow {
  name: string
  version: number
  hash: string
  sizeBytes: number
  at: number
}

interface StepFilter {
  task: string | null
  limit: number
  isLast: boolean
}

const forever = Number.MAX_SAFE_INTEGER

/** Of a step, beside what it is and what it cost. */
const stepMore = `break_seq AS breakSeq, break_index AS breakIndex, break_kind AS breakKind,
  tool_errors AS toolErrors, policy_work AS policyWork`

/** What a reader thread answers, by name. Each method's arguments and result pass by structured clone. */
export function createQueries(db: Connection, dataDir: string) {
  const pages = createPages(db)
  const { page } = pages
  const search = createSearch(db, dataDir, pages)
  const blob = db.prepare('SELECT bytes FROM blobs WHERE hash = ?').pluck()
  const isKnown = db.prepare('SELECT 1 FROM blobs WHERE hash = ?')
  const archived = db.prepare('SELECT file, offset, size_bytes AS sizeBytes FROM archived_blobs WHERE hash = ?')
  const granted = db.prepare('SELECT 1 FROM grants WHERE agent = ? AND hash = ? AND seq <= ?')
  const request = db.prepare('SELECT agent, task, model FROM requests WHERE id = ?')
  const versions = db.prepare(`SELECT name, version, hash, size_bytes AS sizeBytes, at FROM artifacts
    WHERE agent = ? AND name = ? AND seq <= ? ORDER BY version`)
  const names = db.prepare(`SELECT name, max(version) AS version, hash, size_bytes AS sizeBytes, at FROM artifacts
    WHERE agent = ? AND seq <= ? AND substr(name, 1, length(?)) = ? GROUP BY name ORDER BY name`)

  /** Sums of a table of spend over a task, an agent, or all. */
  function where(scope: Scope): { sql: string; values: string[] } {
    const conditions = [
      ...(scope.task === undefined ? [] : ['task = ?']),
      ...(scope.agent === undefined ? [] : ['agent = ?']),
    ]
    const values = [scope.task, scope.agent].filter((value) => value !== undefined)
    return { sql: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values }
  }

  const methods = {
    ...createCostQueries(db),

    read: (view: PageView, options: PageOptions): PageRows => page(view, options),

    search,
    /** As a search, for which there need be no text. */
    find: search,
    facets: (view: PageView, text: string | null, options: FindOptions) => facetsOf(search, view, text, options),
    /** Revisions that some agent has run, by activation or by the start of their hash. */
    revisionsNamed(by: { activation: number } | { prefix: string }, agent: string | null): string[] {
      const [condition, values] =
        'activation' in by
          ? ['activation = ?', [by.activation]]
          : ['substr(revision, 1, length(?)) = ?', [by.prefix, by.prefix]]
      const [of, ofAgent] = agent === null ? ['', []] : ['AND agent = ?', [agent]]
      return db
        .prepare(`SELECT DISTINCT revision FROM activations WHERE ${condition} ${of} LIMIT 50`)
        .pluck()
        .all(...values, ...ofAgent) as string[]
    },

    blob(hash: string): Buffer | null {
      const place = archived.get(hash) as Omit<ArchivedBlob, 'hash'> | undefined
      if (place !== undefined) return readArchived(dataDir, { hash, ...place })
      return (blob.get(hash) as Buffer | undefined) ?? null
    },
    /** By bisection: `at` follows seq but where a clock was set, which moves the boundary and no more. */
    lastSeqBefore(at: number): number {
      const find = db.prepare('SELECT at FROM events WHERE seq = ?').pluck()
      let [low, high] = [0, (db.prepare('SELECT max(seq) FROM events').pluck().get() as number | null) ?? 0]
      while (low < high) {
        const middle = Math.ceil((low + high) / 2)
        if ((find.get(middle) as number) < at) low = middle
        else high = middle - 1
      }
      return low
    },

    /** Blobs that an agent was given by `upTo`; those without a grant are the kernel's own and needed at a start. */
    archivable(upTo: number, minBytes: number, maxBytes: number): { hashes: string[]; number: number } {
      const rows = db
        .prepare(`SELECT DISTINCT blobs.hash, octet_length(bytes) AS bytes FROM grants JOIN blobs ON blobs.hash = grants.hash
          WHERE grants.seq <= ? AND octet_length(bytes) >= ? AND blobs.hash NOT IN (SELECT hash FROM archived_blobs)
          ORDER BY grants.seq, blobs.id`)
        .iterate(upTo, Math.max(1, minBytes)) as Iterable<{ hash: string; bytes: number }>
      const hashes: string[] = []
      let size = 0
      for (const { hash, bytes } of rows) {
        if (hashes.length > 0 && size + bytes > maxBytes) break
        hashes.push(hash)
        size += bytes
      }
      const files = db.prepare('SELECT count(DISTINCT file) FROM archived_blobs').pluck().get() as number
      return { hashes, number: files + 1 }
    },

    /** In the order in which they came. */
    blobHashes(after: number, limit: number): { hashes: string[]; next: number | null } {
      const rows = db.prepare('SELECT id, hash FROM blobs WHERE id > ? ORDER BY id LIMIT ?').all(after, limit) as {
        id: number
        hash: string
      }[]
      return { hashes: rows.map(({ hash }) => hash), next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) }
    },

    hasBlob: (hash: string): boolean => isKnown.get(hash) !== undefined,
    mayRead: (agent: string, hash: string): boolean =>
      lineage(db, agent, forever).some((stretch) => granted.get(stretch.agent, hash, stretch.upTo) !== undefined),

    request(id: number): { agent: string; task: string; model: string; items: { kind: string; hash: string }[] } {
      const row = request.get(id) as { agent: string; task: string; model: string } | undefined
      if (row === undefined) throw new KernelError('not-found', `no request ${id}`)
      return { ...row, items: itemsOf(db, id) }
    },

    steps: (task: string, afterTurn: number, afterStep: number) =>
      db
        .prepare(`SELECT task, turn, step, activation, revision, at, tool_calls AS toolCalls, progress,
          ${stepMore}, ${spendColumns}
          FROM step_rollup WHERE task = ? AND (turn, step) > (?, ?) ORDER BY turn, step`)
        .all(task, afterTurn, afterStep),

    /** In order; where `isLast`, the last `limit` of them. Of one task by its steps, of all by time. */
    activationSteps(agent: string, activation: number, { task, limit, isLast }: StepFilter) {
      const keys = task === null ? ['at', 'task', 'turn', 'step'] : ['turn', 'step']
      const order = keys.map((key) => `${key} ${isLast ? 'DESC' : 'ASC'}`).join(', ')
      const rows = db
        .prepare(`SELECT task, turn, step, activation, revision, at, tool_calls AS toolCalls, progress,
          ${stepMore}, ${spendColumns} FROM step_rollup
          WHERE agent = ? AND activation = ? ${task === null ? '' : 'AND task = ?'} ORDER BY ${order} LIMIT ?`)
        .all(agent, activation, ...(task === null ? [] : [task]), limit)
      return isLast ? rows.reverse() : rows
    },

    policyWork: (agent: string, after: number, until: number) =>
      db
        .prepare(`SELECT count(*) AS steps, ${spendSums} FROM step_rollup
          WHERE agent = ? AND at > ? AND at <= ? AND policy_work = 1`)
        .get(agent, after, until),

    activations: (task: string) =>
      db
        .prepare(`SELECT task, agent, activation, revision, steps, progress_from AS progressFrom, progress_to AS progressTo,
          ${spendColumns} FROM activation_rollup WHERE task = ? ORDER BY activation`)
        .all(task),

    totals(scope: Scope, sinceMs: number | null) {
      const { sql, values } = where(scope)
      const and = sql === '' ? 'WHERE' : `${sql} AND`
      const sums =
        sinceMs === null
          ? db.prepare(`SELECT ${spendSums} FROM model_rollup ${sql}`).get(...values)
          : db
              .prepare(`SELECT ${spendSums} FROM minute_rollup ${and} minute >= ?`)
              .get(...values, Math.floor(sinceMs / 60_000))
      const steps =
        sinceMs === null
          ? db
              .prepare(`SELECT coalesce(sum(steps), 0) FROM activation_rollup ${sql}`)
              .pluck()
              .get(...values)
          : db
              .prepare(`SELECT count(*) FROM step_rollup ${and} at >= ?`)
              .pluck()
              .get(...values, sinceMs)
      const progress = db
        .prepare(`SELECT value, goal, unit, source FROM progress ${sql} ORDER BY seq DESC LIMIT 1`)
        .get(...values)
      return { ...(sums as object), steps, progress: progress ?? null }
    },

    spent(scope: { lineage: string } | { fromMs: number; toMs: number }) {
      if ('lineage' in scope)
        return db
          .prepare(`WITH RECURSIVE family (agent) AS (
              VALUES (?) UNION SELECT forks.agent FROM forks JOIN family ON forks.parent = family.agent)
            SELECT ${plainSums} FROM model_rollup WHERE agent IN (SELECT agent FROM family)`)
          .get(lineage(db, scope.lineage, forever)[0]?.agent)
      return db
        .prepare(`SELECT ${plainSums} FROM minute_rollup WHERE minute >= ? AND minute < ?`)
        .get(Math.floor(scope.fromMs / 60_000), Math.ceil(scope.toMs / 60_000))
    },

    lineageRoot: (agent: string): string => lineage(db, agent, forever)[0]?.agent ?? agent,

    tools(scope: Scope) {
      const { sql, values } = where(scope)
      return db
        .prepare(`SELECT name, sum(calls) AS calls, sum(errors) AS errors, sum(interrupted) AS interrupted,
          sum(output_bytes) AS outputBytes, sum(duration_ms) AS durationMs
          FROM tool_rollup ${sql} GROUP BY name ORDER BY calls DESC, name`)
        .all(...values)
    },

    toolOperations: (agent: string) =>
      db
        .prepare(`SELECT name, operation, sum(calls) AS calls FROM tool_operations WHERE agent = ?
          GROUP BY name, operation ORDER BY name, operation`)
        .all(agent),

    toolCallsSince: (agent: string, tool: string, since: number): number =>
      db
        .prepare(`SELECT count(*) FROM events INDEXED BY events_agent_tool
          WHERE agent = ? AND tool = ? AND kind = 'tool.called' AND seq > ?`)
        .pluck()
        .get(agent, tool, methods.lastSeqBefore(since)) as number,

    byModel(scope: Scope) {
      const { sql, values } = where(scope)
      return db
        .prepare(`SELECT model, ${spendSums} FROM model_rollup ${sql} GROUP BY model ORDER BY calls DESC, model`)
        .all(...values)
    },

    repeatedCalls: (task: string, limit: number) =>
      db
        .prepare(`SELECT name, arguments, count FROM repeated_calls WHERE task = ? AND count > 1
          ORDER BY count DESC, name LIMIT ?`)
        .all(task, limit),

    cacheBreaks: (task: string, limit: number) =>
      db
        .prepare(`SELECT seq, step, item AS "index", kind, cost_nano_usd AS costNanoUsd FROM cache_breaks
          WHERE task = ? AND kind <> 'none' ORDER BY seq DESC LIMIT ?`)
        .all(task, limit),

    artifactVersions(agent: string, name: string): ArtifactRow[] {
      return lineage(db, agent, forever).flatMap(
        (stretch) => versions.all(stretch.agent, name, stretch.upTo) as ArtifactRow[],
      )
    },

    /** The latest version of each, by name. */
    artifactNames(agent: string, prefix: string, asOf = forever): ArtifactRow[] {
      const latest = new Map<string, ArtifactRow>()
      for (const stretch of lineage(db, agent, asOf)) {
        for (const row of names.all(stretch.agent, stretch.upTo, prefix, prefix) as ArtifactRow[])
          latest.set(row.name, row)
      }
      return [...latest.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    },

    artifactWrites: (agent: string, name: string | null) =>
      lineage(db, agent, forever).flatMap((stretch) =>
        db
          .prepare(`SELECT name, version, artifacts.hash, size_bytes AS sizeBytes, artifacts.at, artifacts.seq, actor, task, revision
            FROM artifacts JOIN events ON events.seq = artifacts.seq
            WHERE artifacts.agent = ? AND (? IS NULL OR name = ?) AND artifacts.seq <= ? ORDER BY name, version`)
          .all(stretch.agent, name, name, stretch.upTo),
      ),

    verifyRecent: (): Verification => verifyRecent(db, dataDir),
    verifyEnds() {
      try {
        // Before the database: it may only have grown since.
        return checkEnds(db, readSignedHeads(dataDir))
      } catch (error) {
        return { head: null, finding: unreadable(error) }
      }
    },
    verifyRange(after: number, upTo: number) {
      try {
        return checkRange(db, after, upTo)
      } catch (error) {
        return { events: 0, finding: unreadable(error), from: '', to: '' }
      }
    },
    verifyDerived: () => found(() => checkDerived(db)),
    verifyRequests: (upTo: number) => found(() => checkRequests(db, upTo)),
    verifyStructure: () => found(() => checkStructure(db)),
    verifyBlobs() {
      try {
        return checkBlobs(db, dataDir)
      } catch (error) {
        return { finding: unreadable(error), notes: [] }
      }
    },
  }

  return {
    run(query: string, args: unknown[]): unknown {
      if (!Object.hasOwn(methods, query)) throw new KernelError('internal', `no query ${query}`)
      return (methods as unknown as Record<string, (...args: unknown[]) => unknown>)[query]?.(...args)
    },
    methods,
  }
}

export type Queries = ReturnType<typeof createQueries>['methods']

function found(check: () => Finding | null): Finding | null {
  try {
    return check()
  } catch (error) {
    return unreadable(error)
  }
}
