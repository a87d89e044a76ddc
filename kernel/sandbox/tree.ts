import { type Readable, Transform } from 'node:stream'
import { extract } from 'tar-stream'
import { type IntakeProblem, type IntakeResult, intakeLimits, type TreeFile } from './sandbox.ts'

/** The only files that a policy may hold. */
const allowedExtensions = ['.ts', '.md', '.json', '.txt']

/** Written by the kernel beside every tree: outside its hash, ignored at intake. */
const kernelFileNames: readonly string[] = ['package.json', 'wire.d.ts', 'tsconfig.json']

/** Headers and padding of the largest tree allowed, and no more: the stream of a sparse terabyte ends here. */
const streamBytes = 2 * intakeLimits.totalBytes + intakeLimits.files * 4096
const problemsShown = 50

/**
 * Reads a tree from a tar stream, trusting nothing in it: only folders and regular UTF-8 text files of the allowed kinds,
 * no links, devices, pipes, set-id or executable bits, no name that could leave the tree or pass for another, no
 * duplicates, and within `intakeLimits`. Nothing is written anywhere. Files come back sorted by path.
 */
export async function readTree(tar: Readable): Promise<IntakeResult> {
  const files: TreeFile[] = []
  const problems: IntakeProblem[] = []
  const seen = new Names()
  let total = 0
  const problem = (path: string, text: string): void => {
    problems.push({ path: escapePath(path), problem: text })
  }
  const parser = extract()
  const capped = capBytes(streamBytes)
  tar.on('error', (error) => capped.destroy(error))
  capped.on('error', (error) => parser.destroy(error))
  tar.pipe(capped).pipe(parser)
  try {
    for await (const entry of parser) {
      const { name, type, size = 0, mode = 0 } = entry.header
      const path = name.replace(/^\.\//, '').replace(/\/$/, '')
      const isRoot = type === 'directory' && (path === '' || path === '.')
      const isKernelFile = type === 'file' && kernelFileNames.includes(path)
      const fault = isRoot ? null : (entryFault(path, type, mode, isKernelFile) ?? seen.fault(path, type === 'file'))
      if (fault !== null) problem(name, fault)
      if (size > intakeLimits.fileBytes) {
        // Reading on would only fill memory; what follows is not looked at.
        problem(name, `larger than ${intakeLimits.fileBytes} bytes`)
        break
      }
      const bytes = await readAll(entry as unknown as AsyncIterable<Buffer>)
      if (type !== 'file' || fault !== null || isKernelFile) continue
      total += bytes.length
      const text = decode(bytes)
      if (text === null) problem(name, 'not UTF-8 text')
      else files.push({ path, text })
      if (files.length > intakeLimits.files) problem('.', `more than ${intakeLimits.files} files`)
      if (total > intakeLimits.totalBytes) problem('.', `more than ${intakeLimits.totalBytes} bytes in all`)
      if (files.length > intakeLimits.files || total > intakeLimits.totalBytes || problems.length >= problemsShown)
        break
    }
  } catch (error) {
    problem('.', `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    tar.destroy()
    capped.destroy()
    parser.destroy()
  }
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, problemsShown) }
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { ok: true, files }
}

const kinds: Record<string, string> = {
  symlink: 'a symbolic link',
  link: 'a hard link to another file',
  fifo: 'a named pipe',
  'character-device': 'a device',
  'block-device': 'a device',
  'contiguous-file': 'a special file',
}

function entryFault(path: string, type: string | null | undefined, mode: number, isKernelFile: boolean): string | null {
  if (type !== 'file' && type !== 'directory') {
    return `${kinds[type ?? ''] ?? `of kind "${type}"`}: only regular files and folders are taken`
  }
  if ((mode & 0o7000) !== 0 && type === 'file') return 'has a set-user, set-group or sticky bit'
  if (isKernelFile) return null
  if (type === 'file' && (mode & 0o111) !== 0) return 'is executable: chmod -x it'
  return nameFault(path) ?? (type === 'file' ? extensionFault(path) : null)
}

/** Why a path may not stand in a tree; null where it may. */
export function nameFault(path: string): string | null {
  if (path === '' || path.startsWith('/')) return 'its name is not a relative path'
  if (Buffer.byteLength(path) > intakeLimits.pathBytes) return `its path is longer than ${intakeLimits.pathBytes} bytes`
  const steps = path.split('/')
  if (steps.length > intakeLimits.depth) return `lies deeper than ${intakeLimits.depth} folders`
  if (steps.some((step) => step === '' || step === '.' || step === '..'))
    return 'its path has an empty, "." or ".." part'
  if (steps.some((step) => step.startsWith('.'))) return 'its name, or that of a folder on its way, begins with a dot'
  if (path.normalize('NFC') !== path) return 'its name is not in Unicode normal form C'
  // Letters and digits of any script; no control, format or space-like character can hide in a name.
  const plain = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}._+@ -]*[\p{L}\p{M}\p{N}_+@-])?$/u
  if (steps.some((step) => !plain.test(step))) return 'its name has characters other than letters, digits and . _ + @ -'
  return null
}

function extensionFault(path: string): string | null {
  if (allowedExtensions.some((extension) => path.endsWith(extension))) return null
  return `only ${allowedExtensions.join(' ')} files are taken`
}

/** Names met so far, with their folders, as a file system that ignores case would see them. */
class Names {
  private readonly known = new Map<string, { path: string; isFile: boolean; listed: boolean }>()

  fault(path: string, isFile: boolean): string | null {
    const steps = path.split('/')
    for (let length = 1; length <= steps.length; length += 1) {
      const part = steps.slice(0, length).join('/')
      const isWhole = length === steps.length
      const key = fold(part)
      const before = this.known.get(key)
      if (before === undefined) {
        this.known.set(key, { path: part, isFile: isWhole && isFile, listed: isWhole })
        continue
      }
      if (before.path !== part) return `its name differs from ${escapePath(before.path)} only in case or normal form`
      if (!isWhole && before.isFile) return `${escapePath(part)} is a file and a folder at once`
      if (isWhole && (before.listed || isFile)) return 'comes twice'
      before.listed = isWhole
    }
    return null
  }
}

function fold(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
}

function decode(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

async function readAll(entry: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of entry) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function capBytes(limit: number): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > limit) done(new Error(`more than ${limit} bytes in the archive`))
      else done(null, chunk)
    },
  })
}

/** A name fit for a screen and a log line: what is not a plain letter, digit or sign shows as its code point. */
export function escapePath(path: string): string {
  const shown = path.replace(/[^\p{L}\p{N}\p{P}\p{Sm}\p{Sc} ]|[\\\u2028\u2029\ufffd]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
  return shown.length > 240 ? `${shown.slice(0, 240)}…` : shown
}
