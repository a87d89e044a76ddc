// A snapshot and the actions since, on disk. Files come in pairs, snapshot-N.json and journal-N.ndjson; the highest N holds.
import fs from 'node:fs'
import path from 'node:path'

/** One action as it was accepted, before it had any effect. */
export interface Entry {
  key: string
  args: string[]
}

export class Journal {
  private readonly dir: string
  private epoch = -1
  private fd: number | null = null
  private size = 0
  /** Entries since the snapshot. */
  length = 0

  /** @param dir is created where it is missing. */
  constructor(dir: string) {
    this.dir = dir
    fs.mkdirSync(dir, { recursive: true })
  }

  /**
   * What an earlier process left, or null in a new folder. A last line that was cut off is dropped: it was never acknowledged.
   *
   * @throws Error where an earlier line is damaged: what happened can then not be known.
   */
  read(): { snapshot: string; entries: Entry[] } | null {
    this.epoch = Math.max(-1, ...this.epochs())
    if (this.epoch < 0) return null
    const snapshot = fs.readFileSync(this.file('snapshot'), 'utf8')
    this.fd = fs.openSync(this.file('journal'), 'a+')
    const bytes = fs.readFileSync(this.fd)
    const entries: Entry[] = []
    for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
      end = bytes.indexOf(0x0a, start)
      const entry = end < 0 ? null : parseEntry(bytes.toString('utf8', start, end))
      if (!entry) {
        if (end >= 0 && end < bytes.length - 1) {
          throw new Error(
            `${this.file('journal')}: line ${entries.length + 1} is damaged; restore the folder from a save`,
          )
        }
        break
      }
      entries.push(entry)
      this.size = end + 1
    }
    if (this.size < bytes.length) {
      fs.ftruncateSync(this.fd, this.size)
      fs.fsyncSync(this.fd)
    }
    this.length = entries.length
    return { snapshot, entries }
  }

  /** Replaces all there is by `snapshot`, at once: a crash leaves either the old pair or the new. */
  restart(snapshot: string): void {
    const before = this.epoch
    if (this.fd !== null) fs.closeSync(this.fd)
    this.epoch = before + 1
    this.fd = fs.openSync(this.file('journal'), 'w')
    this.size = 0
    this.length = 0
    const draft = path.join(this.dir, 'snapshot.draft')
    fs.writeFileSync(draft, snapshot, { flush: true })
    fs.renameSync(draft, this.file('snapshot'))
    this.syncFolder()
    for (const old of this.epochs().filter((n) => n < this.epoch)) {
      fs.rmSync(path.join(this.dir, `snapshot-${old}.json`), { force: true })
      fs.rmSync(path.join(this.dir, `journal-${old}.ndjson`), { force: true })
    }
  }

  /**
   * Durable on return (fdatasync).
   *
   * @throws Error when the disk refuses; the entry is then not in the journal.
   */
  append(entry: Entry): void {
    if (this.fd === null) throw new Error('the journal has no snapshot yet')
    const bytes = Buffer.from(`${JSON.stringify(entry)}\n`)
    try {
      let written = 0
      while (written < bytes.length) {
        written += fs.writeSync(this.fd, bytes, written, bytes.length - written, this.size + written)
      }
      fs.fdatasyncSync(this.fd)
    } catch (error) {
      fs.ftruncateSync(this.fd, this.size)
      fs.fsyncSync(this.fd)
      throw error
    }
    this.size += bytes.length
    this.length += 1
  }

  private epochs(): number[] {
    return fs.readdirSync(this.dir).flatMap((name) => {
      const match = /^snapshot-(\d+)\.json$/.exec(name)
      return match ? [Number(match[1])] : []
    })
  }

  private file(kind: 'snapshot' | 'journal'): string {
    return path.join(this.dir, `${kind}-${this.epoch}.${kind === 'snapshot' ? 'json' : 'ndjson'}`)
  }

  private syncFolder(): void {
    const folder = fs.openSync(this.dir, 'r')
    fs.fsyncSync(folder)
    fs.closeSync(folder)
  }
}

function parseEntry(line: string): Entry | null {
  try {
    const { key, args } = JSON.parse(line) as Partial<Entry>
    return typeof key === 'string' && Array.isArray(args) ? { key, args } : null
  } catch {
    return null
  }
}
