import { cpSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { archiveFolder } from './archives.ts'
import { copyFile, renameFile, syncFolder, syncPath } from './files.ts'
import { markImported, readImported } from './imported.ts'
import type { Head } from './messages.ts'
import { writeSignedHead } from './signed-head.ts'
import { type Connection, openForWriting } from './sqlite.ts'
import { headOf } from './verify/recent.ts'

/** Pages in one step: between two of them the thread hears that it is to end. */
const stepPages = 2_000

export interface Backup {
  head: Head | null
  sizeBytes: number
}

/**
 * Copies a history, as it is at one moment, into a folder that is a data directory of its own: database, archives, signed
 * head and key. Writers go on meanwhile. The folder has its name once all of it is on disk.
 * @throws KernelError `conflict` where there is something of that name.
 */
export async function backUp(db: Connection, dataDir: string, folder: string): Promise<Backup> {
  if (existsSync(folder)) throw new KernelError('conflict', `${folder} exists already: name a new folder`)
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true, mode: 0o700 })
  try {
    const file = join(part, 'history.db')
    // One moment for all steps: without it the copying would begin anew at every commit.
    db.exec('BEGIN')
    let head: Head | null
    try {
      head = headOf(db)
      await db.backup(file, { progress: () => stepPages })
    } finally {
      db.exec('COMMIT')
    }
    failpoint('backup:copied')
    // One file, and a finished one.
    openForWriting(file).close()
    syncPath(file)
    copyFile(join(dataDir, 'head.key'), join(part, 'head.key'))
    if (head !== null) writeSignedHead(part, head)
    else copyFile(join(dataDir, 'head.json'), join(part, 'head.json'))
    const imported = readImported(dataDir)
    if (imported !== null) markImported(part, imported)
    if (existsSync(archiveFolder(dataDir))) {
      cpSync(archiveFolder(dataDir), archiveFolder(part), { recursive: true })
      syncFolder(archiveFolder(part))
    }
    return { head, sizeBytes: statSync(file).size }
  } catch (error) {
    rmSync(part, { recursive: true, force: true })
    throw error
  }
}

/** Once it has verified. */
export function keepBackup(folder: string): void {
  failpoint('backup:verified')
  renameFile(`${folder}.part`, folder)
}

export function dropBackup(folder: string): void {
  rmSync(`${folder}.part`, { recursive: true, force: true })
}
