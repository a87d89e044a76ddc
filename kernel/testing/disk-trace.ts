import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

/** What a program did to files below one folder, in the order in which the calls ended. Paths are relative to the folder. */
export type DiskCall =
  | { call: 'create'; path: string }
  | { call: 'folder'; path: string }
  | { call: 'write'; path: string; offset: number; bytes: Buffer }
  | { call: 'truncate'; path: string; size: number }
  | { call: 'sync'; path: string }
  | { call: 'rename'; from: string; to: string }
  | { call: 'remove'; path: string }
  /** A line on stdout: what it says was acknowledged by then. */
  | { call: 'said'; text: string }

export const straceMissing = existsSync('/usr/bin/strace') ? null : 'no strace (apt-get install strace)'

const calls =
  'openat,creat,close,write,pwrite64,pwritev,writev,lseek,fsync,fdatasync,sync_file_range,ftruncate,truncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,dup,dup2,dup3'

/**
 * Runs `argv` under strace and reads back every write, sync and change of a name below `folder`. The program must end by
 * itself with 0, and be one process.
 * @throws Error for a call that this reader does not understand: a silent gap would make images too kind.
 */
export async function recordDisk(argv: string[], folder: string, log: string): Promise<DiskCall[]> {
  // -xx: every string as \xHH, whole; with io_uring calls would not be seen.
  const child = spawn('strace', ['-f', '-qq', '-xx', '-s', '33554432', '-e', `trace=${calls}`, '-o', log, ...argv], {
    env: { ...process.env, UV_USE_IO_URING: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stdout.resume()
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the recorded program ended with ${code}: ${said}`)
  const reader = new TraceReader(resolve(folder))
  for await (const line of createInterface({ input: createReadStream(log, 'latin1') })) reader.line(line)
  return reader.calls
}

interface OpenFile {
  path: string
  offset: number
  isAppending: boolean
}

class TraceReader {
  readonly calls: DiskCall[] = []
  readonly #folder: string
  readonly #open = new Map<number, OpenFile>()
  readonly #known = new Set<string>()
  readonly #unfinished = new Map<string, string>()

  constructor(folder: string) {
    this.#folder = folder
  }

  line(text: string): void {
    const [, pid = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(text) ?? []
    if (rest.endsWith('<unfinished ...>')) {
      this.#unfinished.set(pid, rest.slice(0, -'<unfinished ...>'.length).trimEnd())
      return
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const whole = resumed === null ? rest : `${this.#unfinished.get(pid) ?? ''}${resumed[1]}`
    const parts = /^(\w+)\((.*)\)\s+= (-?\d+|\?)/.exec(whole)
    if (parts === null || parts[3] === '?' || Number(parts[3]) < 0) return
    this.#take(parts[1] as string, argumentsOf(parts[2] as string), Number(parts[3]))
  }

  #take(name: string, args: string[], result: number): void {
    const fd = Number(args[0])
    const file = this.#open.get(fd)
    switch (name) {
      case 'openat':
        this.#opened(textOf(args[1]), args[2] ?? '', result)
        return
      case 'close':
        this.#open.delete(fd)
        return
      case 'dup':
      case 'dup2':
      case 'dup3':
        if (file !== undefined) this.#open.set(result, file)
        return
      case 'lseek':
        if (file !== undefined) file.offset = result
        return
      case 'write': {
        const bytes = bytesOf(args[1]).subarray(0, result)
        if (fd === 1) this.calls.push({ call: 'said', text: bytes.toString('utf8') })
        if (file === undefined) return
        if (file.isAppending) throw new Error('appending writes are not understood')
        this.calls.push({ call: 'write', path: file.path, offset: file.offset, bytes })
        file.offset += result
        return
      }
      case 'pwrite64': {
        if (file === undefined) return
        const bytes = bytesOf(args[1]).subarray(0, result)
        this.calls.push({ call: 'write', path: file.path, offset: Number(args[3]), bytes })
        return
      }
      case 'ftruncate':
        if (file !== undefined) this.calls.push({ call: 'truncate', path: file.path, size: Number(args[1]) })
        return
      case 'fsync':
      case 'fdatasync':
        if (file !== undefined) this.calls.push({ call: 'sync', path: file.path })
        return
      case 'mkdir':
        this.#named(textOf(args[0]), (path) => this.calls.push({ call: 'folder', path }))
        return
      case 'mkdirat':
        this.#named(textOf(args[1]), (path) => this.calls.push({ call: 'folder', path }))
        return
      case 'unlink':
        this.#removed(textOf(args[0]))
        return
      case 'unlinkat':
        this.#removed(textOf(args[1]))
        return
      case 'rmdir':
        this.#removed(textOf(args[0]))
        return
      case 'rename':
        this.#renamed(textOf(args[0]), textOf(args[1]))
        return
      case 'renameat':
      case 'renameat2':
        this.#renamed(textOf(args[1]), textOf(args[3]))
        return
      default: {
        const path = file?.path ?? this.#inside(args.map(textOf).find((text) => text.startsWith('/')) ?? '')
        if (path !== null && path !== undefined) throw new Error(`${name} on ${path} is not understood`)
      }
    }
  }

  #opened(given: string, flags: string, fd: number): void {
    const path = this.#inside(given)
    this.#open.delete(fd)
    if (path === null) return
    if (flags.includes('O_CREAT') && !this.#known.has(path)) this.calls.push({ call: 'create', path })
    else if (flags.includes('O_TRUNC')) this.calls.push({ call: 'truncate', path, size: 0 })
    this.#known.add(path)
    this.#open.set(fd, { path, offset: 0, isAppending: flags.includes('O_APPEND') })
  }

  #removed(given: string): void {
    this.#named(given, (path) => {
      this.#known.delete(path)
      this.calls.push({ call: 'remove', path })
    })
  }

  #renamed(given: string, to: string): void {
    const [from, target] = [this.#inside(given), this.#inside(to)]
    if (from === null && target === null) return
    if (from === null || target === null) throw new Error(`${given} was moved across the folder's edge`)
    this.#known.delete(from)
    this.#known.add(target)
    for (const file of this.#open.values()) if (file.path === from) file.path = target
    this.calls.push({ call: 'rename', from, to: target })
  }

  #named(given: string, take: (path: string) => void): void {
    const path = this.#inside(given)
    if (path !== null) take(path)
  }

  /** Relative to the folder; '' is the folder itself; null: elsewhere. */
  #inside(path: string): string | null {
    if (path === this.#folder) return ''
    return path.startsWith(`${this.#folder}/`) ? path.slice(this.#folder.length + 1) : null
  }
}

/** Split at commas outside of quotes. */
function argumentsOf(text: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '"' ? text.indexOf('"', at + 1) + 1 : at
    const comma = text.indexOf(', ', end)
    parts.push(text.slice(at, comma < 0 ? undefined : comma))
    at = comma < 0 ? text.length : comma + 2
  }
  return parts
}

function bytesOf(quoted: string | undefined): Buffer {
  const found = /^"((?:\\x[0-9a-f]{2})*)"$/.exec(quoted ?? '')
  if (found === null) throw new Error(`not a whole string: ${(quoted ?? '').slice(0, 40)}`)
  return Buffer.from((found[1] as string).replaceAll('\\x', ''), 'hex')
}

function textOf(quoted: string | undefined): string {
  return quoted?.startsWith('"') ? bytesOf(quoted).toString('utf8') : ''
}
