import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, openPlain } from '../sqlite.ts'

// DATA/history-search.db: which words are in which event. Derived from the log and trailing it; deleted, it is built anew.

/** Events in one table of words: the newest are looked up first, and a payload's removal builds only its table anew. */
export const partEvents = 250_000
const format = 2

export const indexFile = (dataDir: string) => join(dataDir, 'history-search.db')
export const wordTable = (part: number) => `words_${part}`
export const partOf = (seq: number) => Math.floor((seq - 1) / partEvents)
export const firstOf = (part: number) => part * partEvents + 1

/** Opens or makes it. One that is damaged, of another form, or of another log is replaced by an empty one. */
export function openIndex(dataDir: string, log: Connection): Connection {
  const file = indexFile(dataDir)
  try {
    return prepared(openPlain(file, 5_000), log)
  } catch {
    removeIndex(dataDir)
    return prepared(openPlain(file, 5_000), log)
  }
}

export function removeIndex(dataDir: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(indexFile(dataDir) + suffix, { force: true })
}

function prepared(db: Connection, log: Connection): Connection {
  try {
    db.pragma('page_size = 8192')
    db.pragma('journal_mode = WAL')
    // It may lose its last commits at a power loss, never its consistency: what is lost is built again.
    db.pragma('synchronous = NORMAL')
    db.pragma('secure_delete = ON')
    db.pragma('trusted_schema = OFF')
    const found = db.pragma('user_version', { simple: true })
    if (found === 0) {
      db.transaction(() => {
        db.exec(`CREATE TABLE parts (
          part INTEGER PRIMARY KEY,
          -- The last event in it, and the hash of that event: it says which log this is of.
          up_to INTEGER NOT NULL,
          hash TEXT NOT NULL
        ) STRICT;
        -- Events that removed a payload, and whose part was built again for it.
        CREATE TABLE forgotten (by INTEGER PRIMARY KEY) STRICT`)
        db.pragma(`user_version = ${format}`)
      })()
    } else if (found !== format) throw new Error(`search index of form ${found}`)
    // Such as one that a backup was put in place of.
    const hashOf = log.prepare('SELECT hash FROM events WHERE seq = ?').pluck()
    const parts = db.prepare('SELECT up_to AS upTo, hash FROM parts').all() as { upTo: number; hash: string }[]
    if (parts.some(({ upTo, hash }) => hashOf.get(upTo) !== hash)) throw new Error('search index of another log')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

export function createPart(db: Connection, part: number): void {
  // No text is kept, and no positions: what is found is looked at in the log. The words come split and in lower case;
  // to this tokenizer all beyond ASCII is part of a word.
  db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${wordTable(part)}
    USING fts5(words, content = '', columnsize = 0, detail = none, tokenize = 'ascii')`)
}
