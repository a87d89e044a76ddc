import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { FromWorker, Outcome, ToWorker, WorkerSetup } from '../messages.ts'
import { requireCurrentSchema } from '../migrations.ts'
import { createQueries } from '../queries.ts'
import { type Connection, explain, openForReading } from '../sqlite.ts'

/** A thread that answers questions. */
export function read(port: MessagePort, setup: WorkerSetup): void {
  const file = setup.file ?? join(setup.dataDir, 'history.db')
  const send = (message: FromWorker) => port.postMessage(message)
  // At the first question: until the writer is ready there may be no database.
  let db: Connection | null = null
  let queries: ReturnType<typeof createQueries> | null = null
  function run(query: string, args: unknown[]): unknown {
    db ??= openForReading(file)
    if (queries === null) requireCurrentSchema(db, setup.version)
    queries ??= createQueries(db, setup.dataDir)
    return queries.run(query, args)
  }
  function answer(id: number, query: () => unknown): Outcome {
    try {
      return { id, ok: true, value: query() }
    } catch (error) {
      const { code, message, details } = explain(error, file)
      return { id, ok: false, code, message, ...(details === undefined ? {} : { details }) }
    }
  }
  port.on('message', (message: ToWorker) => {
    if (message.type === 'close') {
      db?.close()
      send({ type: 'closed' })
      port.close()
    } else if (message.type === 'read') {
      send({ type: 'settled', outcomes: [answer(message.id, () => run(message.query, message.args))], head: null })
    }
  })
  send({ type: 'ready', head: null, problem: null })
}
