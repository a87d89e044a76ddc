import type { IntakeProblem, TreeFile } from '../../sandbox/sandbox.ts'
import { charter, isForbidden } from './charter.ts'
import { type Candidate, type Check, fail, pass, recurrenceOf } from './check.ts'
import { changesOf } from './delta.ts'
import { hiddenCharacters } from './hidden.ts'
import { latinWords, lookalikes } from './lookalikes.ts'
import { encodedData } from './opaque.ts'
import { tricksIn } from './tricks.ts'

const scopeLimits = {
  files: 500,
  fileBytes: 256 * 1024,
  totalBytes: 2 * 1024 * 1024,
  depth: 12,
  pathBytes: 200,
  /** No reviewer reads a longer line. */
  lineCharacters: 2_000,
} as const

const allowedExtensions = ['.ts', '.md', '.json', '.txt']
const problemsShown = 20

/** Written by the kernel beside every tree; never part of one. */
export const kernelFileNames: readonly string[] = ['package.json', 'wire.d.ts', 'tsconfig.json']

/** Whether the tree can be a policy at all, and whether a person can see all that it says. */
export const scope: Check = {
  name: 'scope',
  description: 'Whether it can be a policy at all, and whether a person can see all that it says.',
  gates: true,
  thresholds: {},
  rules: { version: 6, ...scopeLimits, allowedExtensions, charter },
  async run(candidate) {
    const { files, base, recurrences } = candidate
    const latin = latinWords(files)
    const problems = [
      ...treeProblems(files),
      ...charterProblems(candidate),
      ...files.flatMap((file) => textProblems(file, latin)),
    ]
    const sizeBytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    const before = new Map(base.map(({ path, text }) => [path, text]))
    const changed = files.filter(({ path, text }) => before.get(path) !== text).length
    const details = {
      files: files.length,
      sizeBytes,
      changed,
      problems: problems.slice(0, problemsShown).map((one) => ({ ...one })),
      // The operator has seen this content before.
      recurrences: recurrences.map((one) => ({ ...one })),
    }
    const [first] = problems
    if (first !== undefined) {
      const more = problems.length > 1 ? `; and ${problems.length - 1} more` : ''
      return fail(`${first.path}: ${first.problem}${more}`, details)
    }
    const again = recurrenceOf(recurrences)
    return pass(
      `${files.length} files, ${sizeBytes} bytes, all plain text${again === null ? '' : `; ${again}`}`,
      details,
    )
  },
}

/** What the charter keeps from an agent. What a person proposes is shown all the same, of the gravest tier, and is never approved. */
function charterProblems({ by, base, files }: Candidate): IntakeProblem[] {
  if (by === 'operator') return []
  const changes = changesOf(base, files)
  const kept = base.filter(({ path }) => isForbidden(path)).map(({ text }) => linesOf(text))
  const isCopy = (text: string | null, before: string | null): boolean =>
    text !== null && kept.some((lines) => shareOf(lines, text) >= copyShare && shareOf(lines, before ?? '') < copyShare)
  return changes.flatMap(({ path, before, after }) => {
    if (isForbidden(path))
      return {
        path: escapeText(path),
        problem: 'is kept from its agent by the charter: leave it as it is, and ask the operator where it must change',
      }
    return isCopy(after, before)
      ? { path: escapeText(path), problem: 'is a copy of what the charter keeps from its agent: use that, as it is' }
      : []
  })
}

/** Of the lines of a file, so many make another a copy of it. */
const copyShare = 0.4

/** Lines of some length, however they are set in. */
function linesOf(text: string): ReadonlySet<string> {
  const lines = text.split('\n').map((line) => line.trim())
  return new Set(lines.filter((line) => line.length >= 20))
}

function shareOf(lines: ReadonlySet<string>, text: string): number {
  const own = linesOf(text)
  return lines.size < 10 ? 0 : [...lines].filter((line) => own.has(line)).length / lines.size
}

/** Rules of names, counts and sizes. Intake holds an agent's own copy to them; here they hold for every candidate. */
export function treeProblems(files: readonly TreeFile[]): IntakeProblem[] {
  const problems: IntakeProblem[] = []
  const seen = new Map<string, string>()
  let total = 0
  for (const { path, text } of files) {
    const bytes = Buffer.byteLength(text)
    total += bytes
    const shown = escapeText(path)
    const problem = (what: string) => problems.push({ path: shown, problem: what })
    const fault = nameFault(path)
    if (fault !== null) problem(fault)
    if (bytes > scopeLimits.fileBytes) problem(`larger than ${scopeLimits.fileBytes} bytes`)
    if (/\p{Cs}/u.test(text) || text.includes('\0')) problem('is not UTF-8 text')
    const key = path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
    const twin = seen.get(key)
    if (twin !== undefined)
      problem(twin === path ? 'comes twice' : `differs from ${escapeText(twin)} only in case or normal form`)
    seen.set(key, path)
  }
  if (files.length > scopeLimits.files) problems.push({ path: '.', problem: `more than ${scopeLimits.files} files` })
  if (total > scopeLimits.totalBytes)
    problems.push({ path: '.', problem: `more than ${scopeLimits.totalBytes} bytes in all` })
  if (!files.some(({ path }) => path === 'main.ts'))
    problems.push({ path: 'main.ts', problem: 'is missing: the executor is started from it' })
  return problems
}

function nameFault(path: string): string | null {
  if (path === '' || path.startsWith('/')) return 'its name is not a relative path'
  if (kernelFileNames.includes(path)) return 'is written by the kernel and cannot be part of a policy'
  if (Buffer.byteLength(path) > scopeLimits.pathBytes) return `its path is longer than ${scopeLimits.pathBytes} bytes`
  const steps = path.split('/')
  if (steps.length > scopeLimits.depth) return `lies deeper than ${scopeLimits.depth} folders`
  if (steps.some((step) => step === '' || step.startsWith('.')))
    return 'a part of its path is empty or begins with a dot'
  if (path.normalize('NFC') !== path) return 'its name is not in Unicode normal form C'
  const plain = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}._+@ -]*[\p{L}\p{M}\p{N}_+@-])?$/u
  if (!steps.every((step) => plain.test(step)))
    return 'its name has characters other than letters, digits and . _ + @ -'
  if (!allowedExtensions.some((extension) => path.endsWith(extension)))
    return `only ${allowedExtensions.join(' ')} files are taken`
  return null
}

/** What would let a text say one thing to a reader and another to the machine. */
function textProblems({ path, text }: TreeFile, latin: ReadonlySet<string>): IntakeProblem[] {
  // What prose says to its reader is what it says; a program's words are compared by a machine.
  const isCode = /\.(ts|json)$/.test(path)
  const alike = isCode ? lookalikes(text, latin) : []
  const problems: IntakeProblem[] = [...hiddenCharacters(text), ...alike].map(({ line, codePoint, what }) => ({
    path,
    problem: `line ${line} has ${what} (${codePoint}): write it as an escape, or leave it out`,
  }))
  if (isCode && text.normalize('NFC') !== text)
    problems.push({ path, problem: 'is not in Unicode normal form C: two words of it may look the same' })
  if (lookalikes(path, latin).length > 0)
    problems.push({ path: escapeText(path), problem: 'its name has a letter that looks like another' })
  const long = text.split('\n').findIndex((line) => line.length > scopeLimits.lineCharacters)
  if (long >= 0)
    problems.push({
      path,
      problem: `line ${long + 1} is longer than ${scopeLimits.lineCharacters} characters: break it up`,
    })
  for (const { line, what } of tricksIn(text, isCode))
    problems.push({ path, problem: `line ${line} has ${what}: put it where it is seen, or leave it out` })
  const encoded = encodedData(text)
  if (encoded !== null)
    problems.push({ path, problem: `line ${encoded.line} begins ${encoded.what}: nobody can inspect it, leave it out` })
  return problems
}

/** Fit for a screen and a log line. */
function escapeText(text: string): string {
  const shown = text.replace(/[^\p{L}\p{N}\p{P}\p{Sm}\p{Sc} ]|[\\\u2028\u2029\ufffd]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
  return shown.length > 240 ? `${shown.slice(0, 240)}…` : shown
}
