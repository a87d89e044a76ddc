import type { Connection } from './sqlite.ts'

type Value = string | number | null

/** A table of sums, and what of it is not written yet. */
export interface Sums {
  /** @param first What a row that is not there yet begins with, in the order of `first`; it stays. */
  add(key: readonly Value[], first: readonly Value[], sums: readonly number[]): void
  /** Whether a row of this key waits to be written. */
  has(key: readonly Value[]): boolean
  flush(): void
  /** Forgets what is not written. */
  clear(): void
}

interface Columns {
  table: string
  key: readonly string[]
  first?: readonly string[]
  /** Columns that a new row makes with an expression of its own, whose one parameter is the first column of the key. */
  made?: Readonly<Record<string, string>>
  sums: readonly string[]
}

interface Row {
  place: readonly Value[]
  sums: number[]
}

/**
 * Adds up what many events add to the same row, so that one statement for each row writes it at `flush`. Whole numbers
 * only: their order leaves no trace.
 */
export function createSums(db: Connection, { table, key, first = [], made = {}, sums }: Columns): Sums {
  const bound = [...key, ...first, ...sums]
  const statement = db.prepare(`INSERT INTO ${table} (${[...bound, ...Object.keys(made)].join(', ')})
    VALUES (${[...bound.map(() => '?'), ...Object.values(made)].join(', ')})
    ON CONFLICT DO UPDATE SET ${sums.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`)
  const write = ({ place, sums }: Row) =>
    statement.run(...place, ...sums, ...Object.keys(made).map(() => place[0] ?? null))
  const pending = new Map<string, Row>()
  return {
    add(keys, firsts, added) {
      const name = JSON.stringify(keys)
      const row = pending.get(name)
      const total = row?.sums.map((sum, index) => sum + (added[index] ?? 0))
      if (row !== undefined && total?.every(Number.isSafeInteger)) row.sums = total
      else {
        // SQLite adds what is too large for a number here.
        if (row !== undefined) write(row)
        pending.set(name, { place: [...keys, ...firsts], sums: [...added] })
      }
    },
    has: (keys) => pending.has(JSON.stringify(keys)),
    flush() {
      for (const row of pending.values()) write(row)
      pending.clear()
    },
    clear: () => pending.clear(),
  }
}
