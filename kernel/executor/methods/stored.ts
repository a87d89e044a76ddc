import { KernelError } from '../../errors.ts'
import type { Running } from '../running.ts'

/** What an executor may have the kernel keep in one task, bytes: more would fill the disk of everybody. */
const storedBytesPerTask = 512 * 1024 * 1024
/** Around what a request brings: its event, with header and indexes. */
const bytesPerRequest = 1024

/** Counts bytes that are about to be kept for good. @throws KernelError `over-budget`, with nothing counted. */
export function countStored(running: Running, bytes: number): void {
  if (!hasRoom(running, bytes)) {
    const text = `this task has stored ${running.memory.storedBytes} bytes of artifacts, notes, outputs and events, of ${storedBytesPerTask} that it may`
    throw new KernelError('over-budget', text)
  }
  running.memory.storedBytes += bytes
}

export function countRequest(running: Running): void {
  countStored(running, bytesPerRequest)
}

/** Whether so much more may be kept. */
export function hasRoom(running: Running, bytes: number): boolean {
  return running.memory.storedBytes + bytes <= storedBytesPerTask
}
