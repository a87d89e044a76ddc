import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readText, replaceFile } from './files.ts'

// What a full verification has found is known at the next start too, which checks only the end of the log.

const quarantineFile = (dataDir: string) => join(dataDir, 'quarantine.txt')

/** Why history is to be read only; null: it is not. */
export function readQuarantine(dataDir: string): string | null {
  const text = readText(quarantineFile(dataDir))
  return text === null
    ? null
    : `${text.trim()} (found by a full verification; "exodesk verify" lifts this once it holds)`
}

export function setQuarantine(dataDir: string, problem: string | null): void {
  if (problem === null) rmSync(quarantineFile(dataDir), { force: true })
  else replaceFile(quarantineFile(dataDir), `${problem}\n`)
}
