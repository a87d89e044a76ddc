import { existsSync } from 'node:fs'
import { archiveFile, readArchived } from '../archives.ts'
import { sha256 } from '../chain.ts'
import type { Connection } from '../sqlite.ts'
import type { Finding } from './finding.ts'
import { referringKinds } from './references.ts'

interface BlobRow {
  id: number
  hash: string
  bytes: Buffer
  file: string | null
  offset: number
  sizeBytes: number
}

/** Checks every blob against its hash, those in archives too. A file of archives that is away is told, not found fault with. */
export function checkBlobs(db: Connection, dataDir: string): { finding: Finding | null; notes: string[] } {
  const next = db.prepare(`SELECT id, blobs.hash, bytes, file, offset, size_bytes AS sizeBytes
    FROM blobs LEFT JOIN archived_blobs ON archived_blobs.hash = blobs.hash WHERE id > ? ORDER BY id LIMIT 16`)
  const away = new Map<string, number>()
  const notes = () => [...away].map(([file, count]) => `${count} blobs lie in ${file}, which is not there`)
  for (let id = 0; ; ) {
    const rows = next.all(id) as BlobRow[]
    if (rows.length === 0) return { finding: null, notes: notes() }
    for (const row of rows) {
      id = row.id
      if (row.file !== null && !existsSync(archiveFile(dataDir, row.file))) {
        away.set(row.file, (away.get(row.file) ?? 0) + 1)
        continue
      }
      const bytes = row.file === null ? row.bytes : readArchived(dataDir, { ...row, file: row.file })
      if (sha256(bytes) !== row.hash) return { finding: badBlob(db, row), notes: notes() }
    }
  }
}

function badBlob(db: Connection, { hash, file }: BlobRow): Finding {
  const kinds = [...referringKinds].map((kind) => `'${kind}'`).join(', ')
  const user = db
    .prepare(`SELECT seq, kind FROM events WHERE kind IN (${kinds}) AND instr(data, ?) > 0 ORDER BY seq LIMIT 1`)
    .get(hash) as { seq: number; kind: string } | undefined
  const where = user === undefined ? '' : `event ${user.seq} (${user.kind}): `
  const place = file === null ? '' : ` in ${file}`
  return { seq: user?.seq ?? null, problem: `${where}the bytes of blob ${hash}${place} were changed`, of: 'blob' }
}
