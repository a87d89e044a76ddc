import { type Duplex, PassThrough, type Readable, Writable } from 'node:stream'

export interface BoxStreams {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves when the engine has closed its side, or is gone. */
  closed: Promise<void>
  /** From now on what is not read in time is dropped: the engine does not see a box end whose output is held up. */
  hurry(): void
  destroy(): void
}

const headerBytes = 8

/**
 * The three streams of a container out of the engine's one connection, whose frames are `[stream, 0, 0, 0, length (4, big-endian)]`
 * and then that many bytes. What nobody reads stops the connection, so that the engine, and the box, wait.
 */
export function splitStreams(connection: Duplex): BoxStreams {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  // An error of a stream that its reader has left is nobody's fault.
  for (const stream of [connection, stdout, stderr]) stream.on('error', () => {})
  let header: Buffer = Buffer.alloc(0)
  let left = 0
  let target: PassThrough = stdout
  let isHurried = false

  function take(chunk: Buffer): void {
    let rest = chunk
    let isFull = false
    while (rest.length > 0) {
      if (left === 0) {
        const need = headerBytes - header.length
        header = Buffer.concat([header, rest.subarray(0, need)])
        rest = rest.subarray(need)
        if (header.length < headerBytes) return
        target = header[0] === 2 ? stderr : stdout
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const part = rest.subarray(0, left)
      left -= part.length
      rest = rest.subarray(part.length)
      if (target.destroyed || (isHurried && target.writableNeedDrain)) continue
      if (!target.write(part)) isFull = true
    }
    if (isFull && !isHurried) waitForReaders()
  }

  function waitForReaders(): void {
    connection.pause()
    const goOn = (): void => {
      if ([stdout, stderr].some((stream) => stream.writableNeedDrain && !stream.destroyed)) return
      for (const stream of [stdout, stderr]) for (const event of ['drain', 'close']) stream.off(event, goOn)
      connection.resume()
    }
    for (const stream of [stdout, stderr]) for (const event of ['drain', 'close']) stream.on(event, goOn)
  }

  connection.on('data', take)
  const closed = new Promise<void>((resolve) => {
    const end = (): void => {
      stdout.end()
      stderr.end()
      resolve()
    }
    connection.once('end', end)
    connection.once('close', end)
  })
  const stdin = new Writable({
    write: (chunk, _encoding, done) => {
      // A box may end, or close its end, while input is on its way to it: that is no error of ours.
      if (connection.destroyed || !connection.writable) done()
      else if (connection.write(chunk)) done()
      else {
        const go = (): void => {
          connection.off('drain', go)
          connection.off('close', go)
          done()
        }
        connection.once('drain', go)
        connection.once('close', go)
      }
    },
    final: (done) => {
      if (connection.writable) connection.end()
      done()
    },
  })
  stdin.on('error', () => {})
  return {
    stdin,
    stdout,
    stderr,
    closed,
    hurry() {
      isHurried = true
      connection.resume()
    },
    destroy() {
      connection.destroy()
      for (const stream of [stdout, stderr]) stream.destroy()
    },
  }
}
