import { expect, it } from 'vitest'
import { encode, FrameReader, said } from './frames.ts'

const sent = [
  encode(said.ready, 0, Buffer.alloc(0)),
  encode(said.stdout, 1, Buffer.from('one')),
  encode(said.stderr, 1, Buffer.alloc(0)),
  encode(said.ended, 1, Buffer.from('{"exitCode":0}')),
  encode(said.stdout, 2, Buffer.alloc(64 * 1024, 'x')),
  encode(said.pong, 0, Buffer.alloc(0)),
]
const bytes = Buffer.concat(sent)

/** What was said in order, with the pieces of one output joined. */
function read(sizes: () => number): string[] {
  const reader = new FrameReader()
  const seen: string[] = []
  let output = ''
  for (let at = 0; at < bytes.length; ) {
    const size = sizes()
    for (const { kind, command, payload } of reader.push(bytes.subarray(at, at + size))) {
      if (kind !== said.stdout) seen.push(`${kind} ${command} ${payload.toString()}`)
      else output += `${command}${payload.toString()}`.replace(/^1|^2/, '')
    }
    at += size
  }
  return [...seen, output]
}

const expected = [
  `${said.ready} 0 `,
  `${said.stderr} 1 `,
  `${said.ended} 1 {"exitCode":0}`,
  `${said.pong} 0 `,
  `one${'x'.repeat(64 * 1024)}`,
]

it('reads the same however its bytes are cut', () => {
  for (const size of [1, 2, 8, 9, 10, 4096, 100_000]) expect(read(() => size)).toEqual(expected)
  let n = 0
  expect(read(() => [1, 12, 3, 30_000, 7][n++ % 5] ?? 1)).toEqual(expected)
})

it('hands out output without a copy, as it comes', () => {
  const chunk = encode(said.stdout, 1, Buffer.alloc(1000, 'x'))
  const reader = new FrameReader()
  const [first] = [...reader.push(chunk.subarray(0, 500))]
  expect([first?.payload.length, first?.payload.buffer === chunk.buffer]).toEqual([491, true])
  expect([...reader.push(chunk.subarray(500))].map(({ payload }) => payload.length)).toEqual([509])
})

it('refuses a length that no frame has, before its payload comes', () => {
  for (const length of [0, 4, 5 + 64 * 1024 + 1, 0xffffffff]) {
    const header = Buffer.alloc(9)
    header.writeUInt32BE(length, 0)
    expect(() => [...new FrameReader().push(header)]).toThrow(/a frame of/)
  }
})
