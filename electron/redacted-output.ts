import { inspect } from 'node:util'
import { inert } from './commands/text.ts'

type Write = typeof process.stdout.write

/**
 * Exodesk writes no log file: what it says goes to stdout and stderr. From here on, every key that the kernel knows is
 * masked there, and a fault that ends the process is one line of JSON without control characters. Returns its undoing.
 */
export function redactOutput(redact: (text: string) => string): () => void {
  const undo = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write
    stream.write = function (this: typeof stream, chunk: Uint8Array | string, ...rest: never[]) {
      return (write as Write).call(this, masked(chunk, redact), ...rest)
    } as Write
    return () => {
      stream.write = write
    }
  })
  const fault = (error: unknown) => {
    process.stderr.write(`${faultLine(error, redact)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', fault)
  return () => {
    process.off('uncaughtException', fault)
    for (const back of undo) back()
  }
}

/** A client that hangs on an error shows its key when it is printed (`inspect` reaches what JSON does not). */
export function faultLine(error: unknown, redact: (text: string) => string): string {
  const text = redact(inspect(error, { depth: 4, breakLength: Number.POSITIVE_INFINITY }))
  return inert(JSON.stringify({ at: new Date().toISOString(), fault: text.slice(0, 16_384) }), Number.POSITIVE_INFINITY)
}

function masked(chunk: Uint8Array | string, redact: (text: string) => string): Uint8Array | string {
  if (typeof chunk === 'string') return redact(chunk)
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
  const clean = redact(text)
  return clean === text ? chunk : Buffer.from(clean, 'latin1')
}
