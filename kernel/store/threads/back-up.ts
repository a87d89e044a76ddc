import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { KernelError } from '../../errors.ts'
import { backUp } from '../backup.ts'
import type { FromWorker, ToWorker, WorkerSetup } from '../messages.ts'
import { explain, openForReading } from '../sqlite.ts'

/** A thread for one backup; its question is the folder. */
export function backUpThread(port: MessagePort, { dataDir }: WorkerSetup): void {
  const send = (message: FromWorker) => port.postMessage(message)
  const file = join(dataDir, 'history.db')
  async function answer(id: number, folder: string): Promise<void> {
    const db = openForReading(file)
    try {
      const value = await backUp(db, dataDir, folder)
      send({ type: 'settled', outcomes: [{ id, ok: true, value }], head: null })
    } catch (error) {
      const { code, message } = error instanceof KernelError ? error : explain(error, folder)
      send({ type: 'settled', outcomes: [{ id, ok: false, code, message }], head: null })
    } finally {
      db.close()
    }
  }
  port.on('message', (message: ToWorker) => {
    if (message.type === 'read') void answer(message.id, message.args[0] as string)
    if (message.type === 'close') {
      send({ type: 'closed' })
      port.close()
    }
  })
  send({ type: 'ready', head: null, problem: null })
}
