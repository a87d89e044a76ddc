import type { TreeFile } from '../sandbox/sandbox.ts'
import type { SourceFacts } from './tools.ts'

/** `import type …` and `export type … from` bring in nothing that runs. */
const imported = /(?:\bimport\b(?!\s+type\b)[^'"`;]*?|\bexport\b(?!\s+type\b)[^'"`;]*?\bfrom\s*)(['"])([^'"\n]+)\1/g
const loaded = /\bimport\s*\(\s*(['"`])([^'"`\n]+)\1/g
const method = /(['"`])((?:sandbox|artifact|policy|task|model|blob|history|report)\.[a-z]+)\1/g
const execMember = /\bkernel\s*\??\.\s*exec\s*\(/
const modules =
  /^node:(?:fs|net|tls|dgram|dns|http|https|http2|child_process|worker_threads|cluster|vm|module|os|process)\b/
const globals: [name: string, use: RegExp][] = [
  ['fetch', /\bfetch\s*\(/],
  ['eval', /\beval\s*\(|\bnew\s+Function\b/],
]

/**
 * What one source file says that it reaches for, by its words: names that are put together while it runs are not seen,
 * and then show as observed and not declared.
 */
function factsOf(text: string): SourceFacts {
  const imports = [...text.matchAll(imported), ...text.matchAll(loaded)].map((found) => found[2] ?? '')
  const reaches = new Set([...text.matchAll(method)].map((found) => found[2] ?? ''))
  if (execMember.test(text)) reaches.add('sandbox.exec')
  for (const specifier of imports) if (modules.test(specifier)) reaches.add(specifier.split('/')[0] ?? specifier)
  for (const [name, use] of globals) if (use.test(text)) reaches.add(name)
  return { imports, reaches: [...reaches].sort() }
}

/** Revisions whose reading is kept. */
const keptMost = 50

/** How one tree was read, and what of it follows. */
export interface TreeReader {
  /** `words` where the syntax tree could not be had. */
  by: 'syntax' | 'words'
  /** What the file and all that it imports reach for. */
  declared(path: string): string[]
  /** Files that import it. */
  importers(path: string): string[]
}

/**
 * Reads each revision once: by its syntax tree, else by its words, which are read again the next time.
 * @param read facts of the files in their order; null: they cannot be had now.
 */
export function createReader(read: (files: readonly TreeFile[]) => Promise<readonly SourceFacts[] | null>) {
  const known = new Map<string, Promise<TreeReader>>()

  async function readTree(revision: string, tree: readonly TreeFile[]): Promise<TreeReader> {
    const facts = await read(tree)
    if (facts === null) known.delete(revision)
    const files = tree.map((file, index) => ({ path: file.path, ...(facts?.[index] ?? factsOf(file.text)) }))
    return readerOf(files, facts === null ? 'words' : 'syntax')
  }

  return (revision: string, tree: readonly TreeFile[]): Promise<TreeReader> => {
    const found = known.get(revision) ?? readTree(revision, tree)
    if (known.size >= keptMost && !known.has(revision)) known.delete(known.keys().next().value ?? '')
    known.set(revision, found)
    // A failure is told to whoever asked, and is no reading.
    found.catch(() => known.delete(revision))
    return found
  }
}

function readerOf(tree: readonly ({ path: string } & SourceFacts)[], by: TreeReader['by']): TreeReader {
  const files = new Map(tree.map((file) => [file.path, file]))
  const importsOf = ({ path, imports }: { path: string } & SourceFacts): string[] =>
    imports.flatMap((specifier) => (specifier.startsWith('.') ? resolved(path, specifier) : []))
  return {
    by,
    declared(path) {
      const seen = new Set([path])
      const reaches = new Set<string>()
      for (const at of seen) {
        const file = files.get(at)
        if (file === undefined) continue
        for (const name of file.reaches) reaches.add(name)
        for (const next of importsOf(file)) seen.add(next)
      }
      return [...reaches].sort()
    },
    importers: (path) => tree.filter((file) => importsOf(file).includes(path)).map((file) => file.path),
  }
}

/** A path within the tree; of one that leads out of it, none. */
function resolved(from: string, specifier: string): string[] {
  const parts = from.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return []
    } else if (part !== '.') parts.push(part)
  }
  return [parts.join('/')]
}
