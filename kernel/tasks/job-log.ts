import { type FileHandle, open, rm } from 'node:fs/promises'

/** Kept of each output of a job: its last bytes. */
export const logBytes = 16 * 1024 * 1024

/** The end of one output, in a file that is written round and round: neither memory nor disk grows with what a job writes. */
export class JobLog {
  bytes = 0
  /** Why some of it could not be kept. */
  fault: string | null = null
  readonly #path: string
  readonly #file: FileHandle
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  static async open(path: string): Promise<JobLog> {
    return new JobLog(path, await open(path, 'w+', 0o600))
  }

  /** Resolves when it is written: until then the job is made to wait. */
  write(chunk: Buffer): Promise<void> {
    const at = this.bytes
    this.bytes += chunk.length
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#put(chunk, at)
      } catch (error) {
        // The job goes on: what it does is worth more than what it says.
        this.fault ??= (error as Error).message
      }
    })
    return this.#writing
  }

  /** Bytes from `from` on, as far as they are still kept. */
  async read(from: number, length: number): Promise<{ from: number; bytes: Buffer }> {
    await this.#writing
    const start = Math.min(this.bytes, Math.max(from, this.bytes - logBytes))
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, this.bytes - start)))
    for (let done = 0; done < bytes.length; ) {
      const at = (start + done) % logBytes
      const { bytesRead } = await this.#file.read(bytes, done, Math.min(bytes.length - done, logBytes - at), at)
      // A hole where a write failed.
      if (bytesRead === 0) break
      done += bytesRead
    }
    return { from: start, bytes }
  }

  async remove(): Promise<void> {
    await this.#writing
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  async #put(chunk: Buffer, from: number): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const at = (from + done) % logBytes
      const { bytesWritten } = await this.#file.write(chunk, done, Math.min(chunk.length - done, logBytes - at), at)
      done += bytesWritten
    }
  }
}
