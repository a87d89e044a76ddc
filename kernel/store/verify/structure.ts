import type { Connection } from '../sqlite.ts'
import type { Finding } from './finding.ts'

/** Checks the pages, that each index says what its table says, and that what rows refer to is there. */
export function checkStructure(db: Connection): Finding | null {
  const damaged = (what: string): Finding => ({
    seq: null,
    problem: `the structure of history.db is damaged: ${what}`,
    of: 'log',
  })
  const answer = db.pragma('integrity_check(1)', { simple: true })
  if (answer !== 'ok') return damaged(String(answer))
  const [dangling] = db.pragma('foreign_key_check') as { table: string; parent: string }[]
  return dangling === undefined
    ? null
    : damaged(`a row of ${dangling.table} refers to one of ${dangling.parent} that is not there`)
}
