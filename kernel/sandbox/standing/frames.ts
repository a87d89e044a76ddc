import { KernelError } from '../../errors.ts'

/** Kinds of frames, as server.ts has them. */
export const asked = { run: 1, credit: 2, kill: 3, ping: 4 } as const
export const said = { ready: 1, stdout: 2, stderr: 3, ended: 4, failed: 5, pong: 6, started: 7 } as const

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

/** Frames out of chunks, in linear time; keeps at most one frame that is not whole yet. */
export class FrameReader {
  #parts: Buffer[] = []
  #bytes = 0

  #peek(count: number): Buffer {
    const [first] = this.#parts
    if (first !== undefined && first.length >= count) return first
    this.#parts = [Buffer.concat(this.#parts)]
    return this.#parts[0] ?? Buffer.alloc(0)
  }

  /** @throws KernelError `invalid` for a length that no frame has: nothing that follows can be read then. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#parts.push(chunk)
    this.#bytes += chunk.length
    while (this.#bytes >= headerBytes) {
      const length = this.#peek(4).readUInt32BE(0)
      if (length < headerBytes - 4 || length > headerBytes - 4 + payloadBytes)
        throw new KernelError('invalid', `a frame of ${length} bytes`)
      if (this.#bytes < 4 + length) return
      const frame = this.#take(4 + length)
      yield { kind: frame.readUInt8(4), command: frame.readUInt32BE(5), payload: frame.subarray(headerBytes) }
    }
  }

  #take(count: number): Buffer {
    const taken: Buffer[] = []
    for (let left = count; left > 0; ) {
      const part = this.#parts[0] ?? Buffer.alloc(0)
      taken.push(part.subarray(0, left))
      if (part.length > left) this.#parts[0] = part.subarray(left)
      else this.#parts.shift()
      left -= Math.min(left, part.length)
    }
    this.#bytes -= count
    return taken.length === 1 ? (taken[0] ?? Buffer.alloc(0)) : Buffer.concat(taken)
  }
}
