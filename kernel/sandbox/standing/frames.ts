import { KernelError } from '../../errors.ts'

/** Kinds of frames, as server.ts has them. */
export const asked = { run: 1, credit: 2, kill: 3, ping: 4 } as const
export const said = { ready: 1, stdout: 2, stderr: 3, ended: 4, failed: 5, pong: 6, started: 7 } as const

/** Of an output frame, as much as has arrived: each piece as a frame of its own, so that none is copied. */
export interface Frame {
  kind: number
  command: number
  payload: Buffer
}

/** Longest payload that the server may send. */
const payloadBytes = 64 * 1024
const headerBytes = 9

export function encode(kind: number, command: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32BE(headerBytes - 4 + payload.length, 0)
  header.writeUInt8(kind, 4)
  header.writeUInt32BE(command, 5)
  return Buffer.concat([header, payload])
}

interface OpenFrame {
  kind: number
  command: number
  /** Bytes of the payload that have not arrived. */
  left: number
  parts: Buffer[]
}

const isOutput = (kind: number): boolean => kind === said.stdout || kind === said.stderr

/** Frames out of chunks, in linear time. Keeps no output, and of others at most one that is not whole yet. */
export class FrameReader {
  readonly #header = Buffer.alloc(headerBytes)
  #headed = 0
  #open: OpenFrame | null = null

  #begin(): OpenFrame {
    this.#headed = 0
    const length = this.#header.readUInt32BE(0)
    if (length < headerBytes - 4 || length > headerBytes - 4 + payloadBytes)
      throw new KernelError('invalid', `a frame of ${length} bytes`)
    const left = length - (headerBytes - 4)
    return { kind: this.#header.readUInt8(4), command: this.#header.readUInt32BE(5), left, parts: [] }
  }

  /** @throws KernelError `invalid` for a length that no frame has: nothing that follows can be read then. */
  *push(chunk: Buffer): Generator<Frame> {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#open === null) {
        const part = rest.subarray(0, headerBytes - this.#headed)
        this.#headed += part.copy(this.#header, this.#headed)
        rest = rest.subarray(part.length)
        if (this.#headed < headerBytes) return
        this.#open = this.#begin()
      }
      const open = this.#open
      const { kind, command } = open
      const payload = rest.subarray(0, open.left)
      rest = rest.subarray(payload.length)
      open.left -= payload.length
      if (open.left === 0) this.#open = null
      if (isOutput(kind)) {
        if (payload.length > 0 || open.left === 0) yield { kind, command, payload }
        continue
      }
      open.parts.push(payload)
      if (open.left === 0) yield { kind, command, payload: Buffer.concat(open.parts) }
    }
  }
}
