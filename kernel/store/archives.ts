import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { KernelError } from '../errors.ts'

/** Where a blob's bytes lie beside the database. */
export interface ArchivedBlob {
  hash: string
  /** Name within DATA/archive. */
  file: string
  offset: number
  sizeBytes: number
}

export const archiveFolder = (dataDir: string) => join(dataDir, 'archive')
export const archiveFile = (dataDir: string, file: string) => join(archiveFolder(dataDir), file)

/** @throws KernelError `unavailable` where the file is away, with its name. */
export function readArchived(dataDir: string, { hash, file, offset, sizeBytes }: ArchivedBlob): Buffer {
  const path = archiveFile(dataDir, file)
  const bytes = Buffer.alloc(sizeBytes)
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    throw new KernelError(
      'unavailable',
      `blob ${hash} was archived in ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code}): put that file back there`,
      { cause: error },
    )
  }
  try {
    // A file cut short leaves zeroes, which do not have the hash.
    readSync(fd, bytes, 0, sizeBytes, offset)
    return bytes
  } finally {
    closeSync(fd)
  }
}
