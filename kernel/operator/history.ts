import { isAbsolute } from 'node:path'
import { KernelError } from '../errors.ts'
import type { History, VerifyReport } from '../history/history.ts'
import { draft } from '../wire/events.ts'

const minArchivedBytes = 64 * 1024

/** What the operator does with history as a whole. */
export function createHistoryDesk(parts: { history: History; verified: (report: VerifyReport) => void }) {
  const { history } = parts
  return {
    async verify() {
      const report = await history.verify()
      parts.verified(report)
      return { ...report, head: report.head?.hash ?? null }
    },
    async backup(folder: string) {
      if (!isAbsolute(folder)) throw new KernelError('invalid', `${folder} is not an absolute path`)
      const { seq, sizeBytes } = await history.backUp(folder)
      // A history that is open for reading only can be copied; it cannot say so.
      if (history.problem === null)
        await history.append([draft('backup.written', { file: folder, sizeBytes, seq }, { actor: 'operator' })])
      return { seq, sizeBytes, folder }
    },
    async archive(before: number, minBytes = minArchivedBytes) {
      const done = { files: [] as string[], blobs: 0, sizeBytes: 0 }
      for (;;) {
        const file = await history.archive({ before, minBytes })
        if (file === null) return done
        done.files.push(file.file)
        done.blobs += file.blobs
        done.sizeBytes += file.sizeBytes
      }
    },
  }
}
