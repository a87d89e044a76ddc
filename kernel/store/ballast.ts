import { randomFillSync } from 'node:crypto'
import { closeSync, existsSync, openSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Room set aside in a data directory, so that a full disk can be recorded and what runs can be paused in good order. */
const ballastBytes = 8 * 1024 * 1024

const ballastFile = (dataDir: string) => join(dataDir, 'ballast')

export function freeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(dataDir)
  return bavail * bsize
}

/** Sets it aside, unless it is there or the disk has too little room for it. */
export function ensureBallast(dataDir: string): void {
  const file = ballastFile(dataDir)
  if (existsSync(file) || freeBytes(dataDir) < 4 * ballastBytes) return
  // Not zeroes, which some file systems do not keep.
  const block = randomFillSync(Buffer.alloc(1024 * 1024))
  try {
    const fd = openSync(`${file}.next`, 'w', 0o600)
    try {
      for (let written = 0; written < ballastBytes; written += block.length) writeSync(fd, block)
    } finally {
      closeSync(fd)
    }
    renameSync(`${file}.next`, file)
  } catch {
    // Then there is none; it is tried again later.
    rmSync(`${file}.next`, { force: true })
  }
}

/** Gives the room back. False: there was none. */
export function releaseBallast(dataDir: string): boolean {
  const file = ballastFile(dataDir)
  if (!existsSync(file)) return false
  rmSync(file, { force: true })
  return true
}
