import type { FileRisk, StaticDetails } from '../wire/operator-checks.ts'
import { graver, reasonsByLine, type Tier } from './risk.ts'

/** 1-based lines of one change of a file; no lines on a side: nothing is there. */
export interface HunkLines {
  beforeLine: number
  beforeLines: number
  afterLine: number
  afterLines: number
}

/**
 * How carefully each change of a file should be read: by what the static check found on its own lines. What holds for the
 * whole file (its tests, the entry point, what the charter keeps), and what was found on a line that no change has, holds for
 * each of them; so does the file's risk where nothing was read. No change is ever of higher risk than its file.
 */
export function hunkRisks(
  file: Pick<FileRisk, 'path' | 'risk' | 'reasons'>,
  hunks: readonly HunkLines[],
  read: StaticDetails | null,
): { risk: Tier; reasons: string[] }[] {
  const whole = { risk: file.risk, reasons: [...file.reasons] }
  if (read === null || read.isCut || file.risk !== 'HIGH') return hunks.map(() => whole)
  const found = reasonsByLine(file.path, read)
  const known = new Set(found.map(({ reason }) => reason))
  const isIn = (hunk: HunkLines, { side, line }: (typeof found)[number]): boolean => {
    const [first, lines] = side === 'before' ? [hunk.beforeLine, hunk.beforeLines] : [hunk.afterLine, hunk.afterLines]
    return line >= first && line < first + lines
  }
  const everywhere = found.filter((one) => !hunks.some((hunk) => isIn(hunk, one)))
  // Reasons that have no line are the file's own; of these only its tests and its entry point are grave.
  const ofFile = file.reasons.filter((reason) => !known.has(reason) && !reason.startsWith('no longer has '))
  const isGrave = ofFile.some((reason) => /^changes (?:its own tests|main\.ts)/.test(reason))
  return hunks.map((hunk) => {
    const own = [...found.filter((one) => isIn(hunk, one)), ...everywhere]
    const risk = own.reduce<Tier>((gravest, one) => graver(gravest, one.risk), isGrave ? 'HIGH' : 'MED')
    const reasons = [...own.filter((one) => one.risk === 'HIGH'), ...own.filter((one) => one.risk !== 'HIGH')]
    return { risk, reasons: [...new Set([...reasons.map(({ reason }) => reason), ...ofFile])].slice(0, 20) }
  })
}
