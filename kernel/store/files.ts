// The few places where the store writes files of its own, beside SQLite's: each is on disk, whole, when it returns.
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Puts `text` in place of the file, or leaves the file as it was. */
export function replaceFile(file: string, text: string): void {
  const next = `${file}.next`
  const fd = openSync(next, 'w', 0o600)
  try {
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameFile(next, file)
}

/** Copies a file that nobody writes to meanwhile; where it fails, nothing is left. Shares the bytes where the disk can. */
export function copyFile(from: string, to: string): void {
  const next = `${to}.next`
  rmSync(next, { force: true })
  try {
    copyFileSync(from, next, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    syncPath(next)
    renameFile(next, to)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  }
}

/** The new name is on disk too. */
export function renameFile(from: string, to: string): void {
  renameSync(from, to)
  syncFolder(dirname(to))
}

/** null: there is no such file. */
export function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

export function syncFolder(folder: string): void {
  // Windows has no such call for folders; its rename is journalled.
  if (process.platform !== 'win32') syncPath(folder)
}

export function syncPath(path: string): void {
  const fd = openSync(path, process.platform === 'win32' ? 'r+' : 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
