import { createHash } from 'node:crypto'
import { KernelError } from '../errors.ts'
import type { SandboxListResult, SandboxReadResult, Sha256 } from '../wire/executor.ts'
import type { BoxSpec, RunOutput, SandboxProvider } from './sandbox.ts'

/** Whatever runs a command where the files are. */
export type CommandRunner = Pick<SandboxProvider, 'run'>

/**
 * Files of a task sandbox. Every access is a command in a box over the same folders: the host never opens a workspace
 * path, so a link in it leads no further than the box itself can see.
 */
export type FilePlace = Omit<BoxSpec, 'argv' | 'timeoutMs'>

const timeoutMs = 30_000
const readBytesMax = 262_144
const entriesMax = 2000

/** @throws KernelError `not-found`, `invalid` (a folder, a pipe, a bad path), `forbidden` (not readable). */
export async function readFile(
  provider: CommandRunner,
  place: FilePlace,
  path: string,
  offset = 0,
  length: number = readBytesMax,
): Promise<SandboxReadResult> {
  requireRange(offset, length)
  const output = await runScript(provider, place, readScript, [checkedPath(path), String(offset + 1), String(length)], {
    outputBytes: length + 64,
  })
  raise(output, path)
  const newline = output.stdout.indexOf(10)
  const totalBytes = Number(output.stdout.subarray(0, newline).toString('latin1'))
  const bytes = output.stdout.subarray(newline + 1)
  const text = decode(bytes, offset > 0, offset + bytes.length < totalBytes)
  return text === null
    ? { text: bytes.toString('base64'), totalBytes, binary: true }
    : { text, totalBytes, binary: false }
}

/**
 * Writes a whole file, folders on its way included: the old content stays until the new one is complete. A link is
 * followed, inside the box. @returns the hash of what was written.
 *
 * @throws KernelError `conflict` where `expect` does not hold, `invalid`, `forbidden`, `unavailable` (disk full).
 */
export async function writeFile(
  provider: CommandRunner,
  place: FilePlace,
  path: string,
  text: string,
  expect?: Sha256 | 'absent',
): Promise<{ hash: Sha256 }> {
  if (expect !== undefined && expect !== 'absent' && !/^[0-9a-f]{64}$/.test(expect)) {
    throw new KernelError('invalid', 'expect must be a SHA-256 in lower-case hex, or "absent"')
  }
  const bytes = Buffer.from(text, 'utf8')
  const hash = createHash('sha256').update(bytes).digest('hex')
  const output = await runScript(provider, place, writeScript, [checkedPath(path), expect ?? '', hash], {
    stdin: bytes,
  })
  raise(output, path)
  return { hash }
}

/** The entries of a folder, sorted by name. @throws KernelError `not-found`, `invalid` (no folder, or too many entries). */
export async function list(provider: CommandRunner, place: FilePlace, path: string): Promise<SandboxListResult> {
  const output = await runScript(provider, place, listScript, [checkedPath(path)], { outputBytes: 1024 * 1024 })
  raise(output, path)
  const records = output.stdout.toString('utf8').split('\0').slice(0, -1)
  if (records.length > entriesMax || output.stdoutBytes > output.stdout.length) {
    throw new KernelError('invalid', `${path} has more than ${entriesMax} entries: use find or ls in sandbox.exec`)
  }
  const entries = records.map((record) => {
    const [kind = '', size = '0', ...name] = record.split('\t')
    return { name: name.join('\t'), type: entryTypes[kind] ?? ('other' as const), sizeBytes: Number(size) }
  })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  return { entries }
}

const entryTypes: Record<string, 'file' | 'directory' | 'link'> = { f: 'file', d: 'directory', l: 'link' }

/** Exit codes of the scripts below, and what they mean. */
const faults: Record<number, { code: 'not-found' | 'invalid' | 'forbidden' | 'conflict'; text: string }> = {
  44: { code: 'not-found', text: 'does not exist' },
  45: { code: 'invalid', text: 'is a folder' },
  46: { code: 'invalid', text: 'is neither a regular file nor a folder' },
  47: { code: 'forbidden', text: 'cannot be read or written by the sandbox user' },
  48: { code: 'conflict', text: 'has changed: read it again' },
  49: { code: 'conflict', text: 'exists already' },
  50: { code: 'invalid', text: 'is not a folder' },
}

const readScript = `[ -e "$1" ] || exit 44
[ ! -d "$1" ] || exit 45
[ -f "$1" ] || exit 46
[ -r "$1" ] || exit 47
stat -L -c %s -- "$1" && tail -c "+$2" -- "$1" | head -c "$3"`

// The hash is checked on what arrived, so that a full disk or a cut stream never takes the place of a good file.
const writeScript = `p=$(readlink -f -- "$1") || p=$1
[ ! -d "$p" ] || exit 45
[ ! -e "$p" ] || [ -f "$p" ] || exit 46
if [ "$2" = absent ]; then [ ! -e "$p" ] || exit 49
elif [ -n "$2" ]; then
  [ -e "$p" ] || exit 48
  h=$(sha256sum <"$p") || exit 47
  [ "\${h%% *}" = "$2" ] || exit 48
fi
d=$(dirname -- "$p")
mkdir -p -- "$d" || exit 47
[ ! -e "$p" ] || [ -w "$p" ] || exit 47
t=$(mktemp -- "$d/.exodesk-XXXXXX") || exit 47
trap 'rm -f -- "$t"' EXIT
m=644
[ ! -e "$p" ] || m=$(stat -c %a -- "$p")
cat >"$t" || exit 1
h=$(sha256sum <"$t")
[ "\${h%% *}" = "$3" ] || { echo 'not all of it could be written' >&2; exit 1; }
chmod "$m" -- "$t"
mv -f -- "$t" "$p" || exit 47`

const listScript = `[ -e "$1" ] || exit 44
[ -d "$1" ] || exit 50
[ -r "$1" ] && [ -x "$1" ] || exit 47
find "$1/" -mindepth 1 -maxdepth 1 -printf '%y\\t%s\\t%f\\0'`

function runScript(
  provider: CommandRunner,
  place: FilePlace,
  script: string,
  parameters: string[],
  options: { stdin?: Buffer; outputBytes?: number },
): Promise<RunOutput> {
  return provider.run({ ...place, argv: ['sh', '-c', script, 'sh', ...parameters], timeoutMs }, options)
}

function raise(output: RunOutput, path: string): void {
  if (output.exitCode === 0) return
  if (output.timedOut)
    throw new KernelError('unavailable', `${JSON.stringify(path)}: no answer in ${timeoutMs / 1000} s`)
  const fault = faults[output.exitCode ?? 0]
  if (fault !== undefined) throw new KernelError(fault.code, `${JSON.stringify(path)} ${fault.text}`)
  const detail = output.stderr.toString('utf8').trim().slice(0, 300)
  throw new KernelError('unavailable', `${JSON.stringify(path)}: ${detail || `the box ended with ${output.exitCode}`}`)
}

/** Relative paths count from the box's working directory. */
function checkedPath(path: string): string {
  if (typeof path !== 'string' || path === '' || path.length > 4096 || path.includes('\0')) {
    throw new KernelError('invalid', 'a path must be 1 to 4096 characters without NUL')
  }
  return path.startsWith('/') ? path : `./${path}`
}

function requireRange(offset: number, length: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new KernelError('invalid', 'offset must be 0 or more')
  if (!Number.isSafeInteger(length) || length < 0 || length > readBytesMax) {
    throw new KernelError('invalid', `length must be 0 to ${readBytesMax} bytes`)
  }
}

/** null where the bytes are no text. A range that begins or ends within a character shows U+FFFD there. */
function decode(bytes: Buffer, isCutBefore: boolean, isCutAfter: boolean): string | null {
  let from = 0
  while (isCutBefore && from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
  for (let to = bytes.length; to >= Math.max(from, bytes.length - (isCutAfter ? 3 : 0)); to -= 1) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(from, to))
      return (from > 0 ? '\ufffd' : '') + text + (to < bytes.length ? '\ufffd' : '')
    } catch {
      // One byte less may end on a whole character.
    }
  }
  return null
}
