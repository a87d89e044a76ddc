import type { Readable } from 'node:stream'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Box, RunOutput } from './sandbox.ts'

/** A box that writes more than this to one stream is out of control and is killed. */
const runawayBytes = 64 * 1024 * 1024

export interface CollectOptions {
  stdin?: string | Buffer
  /** Kept of each stream, bytes; default 1 MiB. */
  outputBytes?: number
  signal?: AbortSignal
}

/**
 * Feeds a started box, keeps what it writes up to a cap, and waits for its end.
 *
 * @throws KernelError `cancelled` once the box is gone, where the signal was raised.
 */
export async function collect(box: Box, clock: Clock, options: CollectOptions = {}): Promise<RunOutput> {
  const startedAt = clock.monotonic()
  const cap = options.outputBytes ?? 1024 * 1024
  const abort = (): void => void box.kill()
  options.signal?.addEventListener('abort', abort, { once: true })
  if (options.signal?.aborted) abort()
  try {
    const streams = [box.stdout, box.stderr].map((stream) => keepStart(stream, cap, () => void box.kill()))
    box.stdin.end(options.stdin ?? '')
    const [stdout, stderr] = await Promise.all(streams)
    const exit = await box.exited
    if (options.signal?.aborted) throw new KernelError('cancelled', 'the command was cancelled')
    return {
      ...exit,
      stdout: stdout?.kept ?? Buffer.alloc(0),
      stderr: stderr?.kept ?? Buffer.alloc(0),
      stdoutBytes: stdout?.bytes ?? 0,
      stderrBytes: stderr?.bytes ?? 0,
      durationMs: clock.monotonic() - startedAt,
    }
  } finally {
    options.signal?.removeEventListener('abort', abort)
  }
}

function keepStart(stream: Readable, cap: number, onRunaway: () => void): Promise<{ kept: Buffer; bytes: number }> {
  const chunks: Buffer[] = []
  let keptBytes = 0
  let bytes = 0
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (keptBytes < cap) {
        const part = chunk.subarray(0, cap - keptBytes)
        chunks.push(part)
        keptBytes += part.length
      }
      if (bytes > runawayBytes) onRunaway()
    })
    stream.once('error', () => {})
    stream.once('close', () => resolve({ kept: Buffer.concat(chunks), bytes }))
    // A box killed while it was being made has no streams left to wait for.
    if (stream.closed) resolve({ kept: Buffer.alloc(0), bytes })
  })
}
