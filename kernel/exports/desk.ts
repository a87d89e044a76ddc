import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { History } from '../history/history.ts'
import { renameFile } from '../store/files.ts'
import { draft } from '../wire/events.ts'
import type { ExportFormat } from '../wire/operator-exports.ts'
import { atif } from './atif.ts'
import { importBundle, writeBundle } from './bundle.ts'
import { entriesOf, parsed } from './entries.ts'
import type { Entry, ExportScope, Exports, WriteContext, Writer } from './exports.ts'
import { fineTuning } from './fine-tuning.ts'
import { requireNoKey } from './key-check.ts'
import { otel } from './otel.ts'
import { html, markdown } from './readable.ts'
import { createRedactor, type Redactor } from './redaction.ts'

const formats: Record<Exclude<ExportFormat, 'bundle'>, { write: Writer; ending: string }> = {
  markdown: { write: markdown, ending: 'md' },
  html: { write: html, ending: 'html' },
  atif: { write: atif, ending: 'atif.json' },
  otel: { write: otel, ending: 'otlp.json' },
  'fine-tuning': { write: fineTuning, ending: 'jsonl' },
}
const consentMissing =
  'whoever worked on this task must agree that a model is trained on it: give consent (exodesk export … --consent)'

export interface ExportsParts {
  history: History
  dataDir: string
  clock: Clock
  version: string
  writerUrl?: URL | string | undefined
  /** Masks every key that the kernel knows. */
  keys: (text: string) => string
  lookalikes: (text: string) => string
  /** Of the person at this machine. Default: the operating system's word. */
  home?: string
}

/** @see Exports. Files have their name once they are whole and on disk; one that a kill cut short is `NAME.part`. */
export function createExports(parts: ExportsParts): Exports {
  const { history, clock, dataDir } = parts

  function redactorOf(scope: ExportScope): Redactor {
    const home = parts.home === undefined ? {} : { home: parts.home }
    return createRedactor({ keys: parts.keys, lookalikes: parts.lookalikes, keep: scope.keep ?? [], ...home })
  }

  async function requireSubject({ format, task, agent }: ExportScope): Promise<void> {
    if (task !== undefined && agent !== undefined) throw new KernelError('invalid', 'name a task or an agent, not both')
    if (format === 'bundle' && (task ?? agent) !== undefined)
      throw new KernelError(
        'invalid',
        'a bundle is the whole history, so that its chain can be verified: name no task and no agent',
      )
    if (format === 'atif' && task === undefined)
      throw new KernelError('invalid', 'a trajectory is of one task: name it (exodesk export atif --task T-1)')
    if (task !== undefined && (await history.latest({ agent: null }, 'task.created', { task })) === null)
      throw new KernelError('not-found', `there is no task ${task}`)
    if (agent !== undefined && (await history.read({ agent }, { limit: 1 })).events.length === 0)
      throw new KernelError('not-found', `there is no agent ${agent}`)
  }

  function defaultFile(scope: ExportScope): string {
    const day = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
    const name = scope.task ?? scope.agent ?? 'history'
    const ending = scope.format === 'bundle' ? 'exodesk' : formats[scope.format].ending
    return join(dataDir, 'exports', `${name}-${day}.${ending}`)
  }

  function contextOf(scope: ExportScope, redactor: Redactor): WriteContext {
    return {
      version: parts.version,
      at: clock.now(),
      scope,
      async request({ seq, data }) {
        const { items } = await history.getRequest(data.request)
        return Promise.all(
          items.map(async ({ kind, hash }) => {
            const value = redactor.value(parsed(String(await history.getBlob(hash))), seq)
            return { kind, value }
          }),
        )
      },
    }
  }

  /** Every text of the scope passes the redactor, whatever the format makes of it. */
  async function writeText(scope: ExportScope, out: string, redactor: Redactor, upTo: number): Promise<number> {
    let events = 0
    async function* counted(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
      for await (const entry of entries) {
        events += 1
        yield entry
      }
    }
    const { write } = formats[scope.format as keyof typeof formats]
    const file = await open(out, 'wx', 0o600)
    try {
      const chunks = write(counted(entriesOf(history, scope, upTo, redactor)), contextOf(scope, redactor))
      // Once more over the finished text: no key passes, whatever a format did to it.
      for await (const chunk of chunks) await writeAll(file, parts.keys(chunk))
      await file.sync()
    } finally {
      await file.close()
    }
    return events
  }

  async function written(scope: ExportScope, out: string, redactor: Redactor): Promise<number> {
    const upTo = history.head()?.seq ?? 0
    if (scope.format !== 'bundle') return writeText(scope, out, redactor, upTo)
    const check = (seq: number) => requireNoKey(history, seq, parts.keys)
    const bundle = { history, out, folder: `${out}.copy`, program: parts.version, at: clock.now(), check }
    return (await writeBundle(bundle)).events
  }

  return {
    async preview(scope) {
      await requireSubject(scope)
      const redactor = redactorOf(scope)
      const upTo = history.head()?.seq ?? 0
      let blocked: string | null = upTo === 0 ? 'History is empty.' : null
      if (scope.format === 'bundle') {
        await requireNoKey(history, upTo, parts.keys).catch((error: unknown) => {
          if (!(error instanceof KernelError)) throw error
          blocked = error.message
        })
        return { events: upTo, findings: [], file: defaultFile(scope), blocked }
      }
      let events = 0
      const { write } = formats[scope.format]
      async function* counted(): AsyncGenerator<Entry> {
        for await (const entry of entriesOf(history, scope, upTo, redactor)) {
          events += 1
          yield entry
        }
      }
      // What it is made of beyond its events, requests say, passes the redactor too.
      for await (const _chunk of write(counted(), contextOf(scope, redactor))) void _chunk
      return { events, findings: redactor.findings(), file: defaultFile(scope), blocked }
    },

    async write({ file = defaultFile({ format: 'markdown' }), consent, ...scope }) {
      await requireSubject(scope)
      if (scope.format === 'fine-tuning' && consent !== true) throw new KernelError('forbidden', consentMissing)
      if (!isAbsolute(file)) throw new KernelError('invalid', `${file} is not an absolute path`)
      if (existsSync(file)) throw new KernelError('conflict', `${file} exists already: name a new file`)
      const redactor = redactorOf(scope)
      const out = `${file}.part`
      let events: number
      try {
        mkdirSync(dirname(file), { recursive: true })
        rmSync(out, { force: true })
        events = await written(scope, out, redactor)
        failpoint('export:written')
        renameFile(out, file)
      } catch (error) {
        rmSync(out, { force: true })
        throw explained(error, file)
      }
      failpoint('export:named')
      const sizeBytes = statSync(file).size
      const hash = await hashOfFile(file)
      const redacted = redactor
        .findings()
        .filter(({ rule, count }) => count > 0 && (rule === 'keys' || !scope.keep?.includes(rule)))
        .map(({ rule, count }) => ({ rule, count }))
      return { file, sizeBytes, hash, events, redacted, seq: await recorded() }

      async function recorded(): Promise<number | null> {
        // One that is open for reading only can be exported; it cannot say so.
        if (history.problem !== null) return null
        const { format, task = null, agent = null } = scope
        const data = { format, sizeBytes, hash, file, task, agent, events, redacted }
        const [event] = await history.append([draft('export.written', data, { actor: 'operator' })])
        return event?.seq ?? null
      }
    },

    async import(file, folder) {
      for (const path of [file, folder])
        if (!isAbsolute(path)) throw new KernelError('invalid', `${path} is not an absolute path`)
      const { version, writerUrl } = parts
      const where = { file, folder, version, at: clock.now() }
      return importBundle(writerUrl === undefined ? where : { ...where, writerUrl })
    },
  }
}

async function writeAll(file: FileHandle, text: string): Promise<void> {
  await file.writeFile(text)
}

async function hashOfFile(path: string): Promise<string> {
  const digest = createHash('sha256')
  const file = await open(path)
  for await (const chunk of file.createReadStream()) digest.update(chunk as Buffer)
  return digest.digest('hex')
}

function explained(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof KernelError || code === undefined) return error
  const why = {
    ENOSPC: 'the disk is full: make room',
    EACCES: 'its folder cannot be written',
    EROFS: 'its disk is read-only',
  }
  return new KernelError('unavailable', `${file} cannot be written: ${why[code as keyof typeof why] ?? code}`, {
    cause: error,
  })
}
