import { describe, expect, it } from 'vitest'
import { tools } from '../toolbox.ts'
import { calls } from './answers.fixture.ts'
import { FakeKernel, script } from './kernel.fixture.ts'

async function result(kernel: FakeKernel): Promise<string> {
  await kernel.connect()
  await kernel.turn(2)
  return String(kernel.sent[1]?.input.findLast((item) => item.type === 'function_call_output')?.output)
}
function kernelFor(name: string, args: object): FakeKernel {
  return new FakeKernel(script([calls(name, args)]))
}

describe('the tools', () => {
  it('live in files that are called as they are', async () => {
    for (const tool of tools) expect((await import(`../tools/${tool.name}.ts`)).tool).toBe(tool)
  })

  it('answer a wrong call with an error that says what is right', async () => {
    expect(await result(kernelFor('shel', {}))).toMatch(/^error: there is no tool shel; there are ask, complete, /)
    expect(await result(kernelFor('shell', {}))).toBe('error: shell needs command (string)')
    expect(await result(kernelFor('shell', { command: 1 }))).toBe('error: command of shell must be of type string')
    expect(await result(kernelFor('shell', { command: 'a', cwd: '/' }))).toBe(
      'error: shell has no argument cwd; it takes command, timeout_s, background',
    )
    const broken = new FakeKernel(script([{ ...calls('shell', {}), arguments: '{"command":' }]))
    expect(await result(broken)).toBe('error: the arguments of shell are not JSON: {"command":')
  })

  it('shell shows a failure first, and standard error apart', async () => {
    const kernel = kernelFor('shell', { command: 'x' })
    kernel.exec = () => ({ exitCode: 2, stdout: 'half\n', stderr: 'no disk\n' })
    expect(await result(kernel)).toBe('error: exit code 2\nhalf\n[stderr]\nno disk')
  })

  it('shell leaves a command running as a job, which jobs lists, shows and kills', async () => {
    const kernel = new FakeKernel(
      script([
        calls('shell', { command: 'make\n all', background: true }),
        calls('jobs', {}),
        calls('jobs', { job: 'job-1', wait_s: 5 }),
        calls('jobs', { job: 'job-1', kill: true }),
        calls('jobs', { job: 'job-2' }),
      ]),
    )
    await kernel.connect()
    await kernel.turn(6)
    const outputs = (kernel.sent.at(-1)?.input ?? [])
      .filter((item) => item.type === 'function_call_output')
      .map((item) => String(item.output))
    expect(outputs).toEqual([
      'job-1 runs. Its end comes as a message; see jobs for its output.',
      'job-1: running, 0 s $ make all',
      'job-1: running, 0 s\n[stdout from byte 0]\nso far',
      'job-1: ended (killed), 0 s\n[stdout from byte 0]\nso far',
      'error: not-found: no job job-2',
    ])
  })

  it('snapshot keeps the sandbox, lists what is kept and brings it back', async () => {
    const kernel = new FakeKernel(
      script([
        calls('snapshot', {}),
        calls('snapshot', { name: 'before' }),
        calls('write', { path: 'a', text: 'new' }),
        calls('snapshot', {}),
        calls('snapshot', { name: 'before', restore: true }),
        calls('snapshot', { name: 'other', restore: true }),
      ]),
    )
    kernel.files.set('/task/a', 'old')
    await kernel.connect()
    await kernel.turn(7)
    const outputs = (kernel.sent.at(-1)?.input ?? [])
      .filter((item) => item.type === 'function_call_output')
      .map((item) => String(item.output))
    expect(outputs).toEqual([
      'no snapshots',
      'kept as before',
      'wrote 3 bytes to /task/a',
      'before',
      'restored: files and world are as they were, jobs have ended',
      'error: not-found: no snapshot other',
    ])
    expect(kernel.files.get('/task/a')).toBe('old')
  })

  it('cut a long result in the middle between characters, and read gives the rest by its handle', async () => {
    const kernel = new FakeKernel((sent) => {
      const last = String(sent.input.findLast((item) => item.type === 'function_call_output')?.output ?? '')
      const handle = /blob:[0-9a-f]{64}/.exec(last)?.[0]
      return [handle === undefined ? calls('shell', { command: 'long' }) : calls('read', { path: handle, from: 990 })]
    })
    kernel.exec = () => ({ stdout: Array.from({ length: 1000 }, (_, index) => `zeile ${index} äöü€`).join('\n') })
    await kernel.connect()
    await kernel.turn(3)
    const [cut, rest] = (kernel.sent[2]?.input ?? [])
      .filter((item) => item.type === 'function_call_output')
      .map((item) => String(item.output))
    expect(Buffer.byteLength(cut ?? '')).toBeLessThan(4096 + 150)
    expect(cut).not.toContain('\uFFFD')
    expect(cut).toMatch(/^zeile 0 /)
    expect(cut).toMatch(/zeile 999 äöü€$/)
    expect(rest?.split('\n')[0]).toBe('zeile 989 äöü€')
  })

  it('read shows a page and says where to go on', async () => {
    const kernel = kernelFor('read', { path: 'big.txt', from: 3 })
    kernel.files.set('/task/big.txt', Array.from({ length: 2000 }, (_, index) => `line ${index + 1}`).join('\n'))
    const output = await result(kernel)
    expect(output.split('\n')[0]).toBe('line 3')
    const next = Number(/go on with from: (\d+)\]$/.exec(output)?.[1])
    expect(output).toContain(`line ${next - 1}\n[lines 3 to ${next - 1} of 2000`)
  })

  it('edit replaces what occurs once and explains what does not', async () => {
    const file = 'function a() {\n    return 1\n}\nreturn 1\n'
    const kernel = kernelFor('edit', { path: 'a.js', old: '    return 1\n', new: '    return 2\n' })
    kernel.files.set('/task/a.js', file)
    expect(await result(kernel)).toBe('edited /task/a.js at line 2')
    expect(kernel.files.get('/task/a.js')).toBe('function a() {\n    return 2\n}\nreturn 1\n')

    const twice = kernelFor('edit', { path: 'a.js', old: 'return 1', new: 'x' })
    twice.files.set('/task/a.js', file)
    expect(await result(twice)).toBe(
      'error: old occurs 2 times in /task/a.js (lines 2, 4): include more lines around it',
    )

    const near = kernelFor('edit', { path: 'a.js', old: 'function a() {\n  return 1', new: 'x' })
    near.files.set('/task/a.js', file)
    expect(await result(near)).toBe(
      'error: old does not occur in /task/a.js. From line 1 the file has (mind the white space):\nfunction a() {\n    return 1',
    )
    expect(await result(kernelFor('edit', { path: 'none.js', old: 'a', new: 'b' }))).toBe(
      'error: not-found: no file /task/none.js',
    )
  })

  it('search quotes its pattern for the shell', async () => {
    const kernel = kernelFor('search', { pattern: `it's`, path: 'src' })
    let command = ''
    kernel.exec = (given) => {
      command = given
      return { stdout: '/task/src/a:1:it is' }
    }
    await result(kernel)
    expect(command).toContain(`grep -rnIE -- 'it'\\''s' '/task/src'`)
  })

  it('report says in few lines where the tokens went', async () => {
    const output = await result(kernelFor('report', {}))
    expect(output).toContain('all: 4 model calls (0 failed), tokens 100 new + 900 cached + 50 out, $0.0050')
    expect(output).toContain('repeated 4 times: shell {"command":"ls"}')
  })

  it('history lists events newest first with their seq', async () => {
    const output = await result(kernelFor('history', { kinds: ['tool.called'] }))
    expect(output).toMatch(/^\d+ tool\.called \{"call":"call_\d+","name":"history"/)
  })
})
