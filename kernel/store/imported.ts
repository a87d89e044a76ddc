import { join } from 'node:path'
import { readText, replaceFile } from './files.ts'
import type { Head } from './messages.ts'

// A history that came as a bundle is somebody's record: it is shown, and nothing is ever added to it.

const importedFile = (dataDir: string) => join(dataDir, 'imported.json')

export interface Imported {
  /** Name of the bundle's file. */
  from: string
  /** Epoch ms, of the import and of the export. */
  at: number
  exportedAt: number
  head: Head
}

export function markImported(dataDir: string, imported: Imported): void {
  replaceFile(importedFile(dataDir), `${JSON.stringify(imported)}\n`)
}

/** null: it is one of this machine's own. A mark that cannot be read counts: nothing is added then either. */
export function readImported(dataDir: string): Imported | null {
  const text = readText(importedFile(dataDir))
  if (text === null) return null
  try {
    return JSON.parse(text) as Imported
  } catch {
    return { from: 'a bundle', at: 0, exportedAt: 0, head: { seq: 0, hash: '' } }
  }
}

export function importedProblem({ from }: Imported): string {
  return `it was imported from ${from}, to be read only`
}
