import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Notices } from '../notices.ts'
import { readText, replaceFile } from '../store/files.ts'
import type { History, VerifyReport } from './history.ts'

/** After a start, and then after so long: the whole of history is verified once, in one thread behind everything else. */
const firstMs = 60_000
const everyMs = 24 * 60 * 60 * 1000

/** Says on every screen what is wrong with history, and looks for it by itself. Returns its undoing. */
export function watchIntegrity(parts: {
  dataDir: string
  history: History
  notices: Notices
  clock: Clock
  /** Called with every full verification that was made by itself. */
  verified: (report: VerifyReport) => void
}): () => void {
  const { dataDir, history, notices, clock } = parts
  const readOnly = (problem: string) =>
    notices.raise({
      id: 'history.read-only',
      severity: 'error',
      text: `History is open for reading only, and tasks cannot run: ${problem}`,
      fix: 'exodesk backup FOLDER keeps what is there; then put the last backup that "exodesk verify --data FOLDER" finds whole in its place',
      task: null,
    })
  if (history.imported !== null) {
    const { from, exportedAt } = history.imported
    const day = new Date(exportedAt).toISOString().slice(0, 10)
    const text = `This is an imported history (${from}, exported on ${day}): it is shown, nothing is added to it, and no task runs`
    notices.raise({ id: 'history.imported', severity: 'info', text, fix: null, task: null })
  } else if (history.problem !== null) readOnly(history.problem)
  const stop = history.onFault(({ fault, message }) => {
    if (fault === 'damaged') readOnly(message)
  })
  let isOver = false

  async function verify(): Promise<void> {
    const report = await history.verify({ threads: 1 })
    if (isOver) return
    showFinding(notices, report)
    if (report.ok) replaceFile(verifiedFile(dataDir), `${clock.now()}\n`)
    parts.verified(report)
  }

  const sinceLast = clock.now() - Number(readText(verifiedFile(dataDir)) ?? 0)
  const isDue = history.problem === null && (sinceLast > everyMs || sinceLast < 0)
  const timer = isDue
    ? setTimeout(() => void verify().catch((error: unknown) => process.emitWarning(String(error))), firstMs).unref()
    : null
  return () => {
    isOver = true
    stop()
    if (timer !== null) clearTimeout(timer)
  }
}

const verifiedFile = (dataDir: string) => join(dataDir, 'verified.txt')

/** A finding stands until a verification holds. */
export function showFinding(notices: Notices, report: VerifyReport): void {
  if (report.ok) {
    notices.clear('history.damaged')
    return
  }
  const consequence = {
    log: 'Nothing is added to history any more: start again to see it for reading only',
    blob: 'What is damaged cannot be read; all else goes on',
    derived: 'Charts and sums may be wrong; the events themselves are whole',
  }[report.of ?? 'log']
  notices.raise({
    id: 'history.damaged',
    severity: report.of === 'derived' ? 'warning' : 'error',
    text: `History does not verify: ${report.problem ?? ''}. ${consequence}`,
    fix: 'Keep the data directory aside and look at the last backup: exodesk verify --data FOLDER',
    task: null,
  })
}
