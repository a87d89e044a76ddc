import { describe, expect, it } from 'vitest'
import { seccompProgram } from './seccomp.ts'

const x64 = 0xc000003e

/** Runs the program on one system call, as seccomp(2) describes it. */
function decide(program: Buffer, call: { arch: number; nr: number; args?: number[] }): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call.nr, 0)
  data.writeUInt32LE(call.arch, 4)
  call.args?.forEach((value, index) => {
    data.writeUInt32LE(value >>> 0, 16 + 8 * index)
  })
  let accumulator = 0
  for (let at = 0; ; at += 1) {
    const code = program.readUInt16LE(at * 8)
    const [ifTrue, ifFalse, value] = [
      program[at * 8 + 2] ?? 0,
      program[at * 8 + 3] ?? 0,
      program.readUInt32LE(at * 8 + 4),
    ]
    if (code === 0x06) return value
    if (code === 0x20) accumulator = data.readUInt32LE(value)
    else {
      const holds =
        code === 0x15 ? accumulator === value : code === 0x35 ? accumulator >= value : (accumulator & value) >>> 0 !== 0
      at += holds ? ifTrue : ifFalse
    }
  }
}

describe('the system-call filter', () => {
  const program = seccompProgram('x64') ?? Buffer.alloc(0)
  const allow = 0x7fff0000
  const fails = (errno: number) => 0x00050000 + errno

  it.each([
    ['read', 0, [], allow],
    ['execve', 59, [], allow],
    ['mount', 165, [], fails(1)],
    ['unshare', 272, [], fails(1)],
    ['setns', 308, [], fails(1)],
    ['bpf', 321, [], fails(1)],
    ['io_uring_setup', 425, [], fails(1)],
    ['keyctl', 250, [], fails(1)],
    ['open_by_handle_at', 304, [], fails(1)],
    ['fork by clone', 56, [17], allow],
    ['thread by clone', 56, [0x3d0f00], allow],
    ['clone with a user namespace', 56, [0x10000011], fails(1)],
    ['clone3', 435, [], fails(38)],
    ['unix socket', 41, [1], allow],
    ['inet socket', 41, [2], allow],
    ['vsock', 41, [40], fails(97)],
    ['packet socket', 41, [17], fails(97)],
    ['terminal injection', 16, [0, 0x5412], fails(1)],
    ['window size', 16, [0, 0x5413], allow],
    ['an x32 call', 0x40000000, [], fails(1)],
  ])('decides on %s', (_name, nr, args, decision) => {
    expect(decide(program, { arch: x64, nr, args })).toBe(decision)
  })

  it('kills a process that calls by the numbers of another architecture', () => {
    expect(decide(program, { arch: 0x40000003, nr: 0 })).toBe(0x80000000)
  })

  it('is known to be missing where the numbers are not known', () => {
    expect(seccompProgram('riscv64')).toBeNull()
  })
})
