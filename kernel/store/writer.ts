// Entry of the store's threads; the bundle makes a file of it. One of them writes, the others read.
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { FromWorker, WorkerSetup } from './messages.ts'
import { explain } from './sqlite.ts'
import { backUpThread } from './threads/back-up.ts'
import { index } from './threads/index.ts'
import { read } from './threads/read.ts'
import { write } from './threads/write.ts'

if (parentPort === null) throw new Error('kernel/store/writer.ts is the entry of a worker thread')
const port = parentPort
const setup = workerData as WorkerSetup

try {
  const roles = { writer: write, reader: read, indexer: index, backup: backUpThread }
  roles[setup.role](port, setup)
} catch (error) {
  const { code, message } = explain(error, join(setup.dataDir, 'history.db'))
  port.postMessage({ type: 'refused', code, message } satisfies FromWorker)
  port.close()
}
