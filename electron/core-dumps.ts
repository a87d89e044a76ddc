import { writeFileSync } from 'node:fs'

/** A dump of this process would hold its keys: none of its memory goes into one, nor of what it starts. Linux only. */
export function keepMemoryOutOfCoreDumps(): void {
  if (process.platform !== 'linux') return
  try {
    writeFileSync('/proc/self/coredump_filter', '0x0')
  } catch {
    // No such file: this system makes no dumps that it could filter.
  }
}
