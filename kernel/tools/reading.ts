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

/** The files of one tree as they import one another. Of each text, facts are read once. */
export function createReader(read: (text: string) => SourceFacts = factsOf) {
  const known = new Map<string, SourceFacts>()

  function of(text: string): SourceFacts {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size > 2000) known.clear()
    const facts = read(text)
    known.set(text, facts)
    return facts
  }

  const importsOf = (file: TreeFile): string[] =>
    of(file.text).imports.flatMap((specifier) => (specifier.startsWith('.') ? resolved(file.path, specifier) : []))

  return {
    /** What the file and all that it imports reach for. */
    declared(path: string, tree: readonly TreeFile[]): string[] {
      const files = new Map(tree.map((file) => [file.path, file]))
      const seen = new Set([path])
      const reaches = new Set<string>()
      for (const at of seen) {
        const file = files.get(at)
        if (file === undefined) continue
        for (const name of of(file.text).reaches) reaches.add(name)
        for (const next of importsOf(file)) seen.add(next)
      }
      return [...reaches].sort()
    },
    /** Files that import it. */
    importers: (path: string, tree: readonly TreeFile[]): string[] =>
      tree.filter((file) => importsOf(file).includes(path)).map((file) => file.path),
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
