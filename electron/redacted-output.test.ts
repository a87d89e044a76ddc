import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { faultLine, redactOutput } from './redacted-output.ts'

const key = 'sk-canary-0123456789'
const redact = (text: string) => text.replaceAll(key, '[redacted key]')

/** As an SDK's error: the client that made the call hangs on it, and its options hold the key. */
function clientError(): Error {
  const client = { options: { defaultHeaders: { authorization: `Bearer ${key}` } } }
  return Object.assign(new Error('the call failed'), { client })
}

describe('what a host says', () => {
  let undo = () => {}
  afterEach(() => undo())

  it('[S12] [C30] masks known keys on both streams, as text and as bytes, until it is undone', () => {
    const said: string[] = []
    const own = [process.stdout, process.stderr].map((stream) => stream.write)
    for (const stream of [process.stdout, process.stderr])
      stream.write = ((chunk: Uint8Array | string) => said.push(Buffer.from(chunk as string).toString()) > 0) as never
    try {
      undo = redactOutput(redact)
      process.stderr.write(`failed with ${key}\n`)
      process.stdout.write(Buffer.from(`found ${key} ü\n`))
      undo()
      process.stderr.write(key)
    } finally {
      ;[process.stdout.write, process.stderr.write] = own as [typeof process.stdout.write, typeof process.stdout.write]
    }
    expect(said).toEqual(['failed with [redacted key]\n', 'found [redacted key] ü\n', key])
  })

  it('[S12] masks the key that an inspection of a client shows', () => {
    expect(inspect(clientError(), { depth: 4 })).toContain(key)
    expect(faultLine(clientError(), redact)).toContain('Bearer [redacted key]')
    expect(faultLine(clientError(), redact)).not.toContain('canary')
  })

  it.each([
    ['line ends', 'one\nExodesk: all is well\r\n'],
    ['colours and titles', '\u001b[31mred\u001b]0;title\u0007'],
    ['a link and the clipboard', '\u001b]8;;http://x\u0007a\u001b]52;c;AAAA\u0007'],
    ['C1 controls', 'a\u009b31mb\u0085c'],
    ['turned and hidden text', 'a\u202eb\u200bc\u2028d'],
  ])('[C30] writes a fault with %s as one line of JSON that no terminal acts on', (_what, text) => {
    const line = faultLine(new Error(text), redact)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is what is asked.
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e\u200b]/)
    expect(line).toMatch(/^\{"at":"\d{4}-.*","fault":"Error: /)
  })

  it('[S12] ends with that line where nothing caught the fault', () => {
    const module = JSON.stringify(join(import.meta.dirname, 'redacted-output.ts'))
    const code = `import { redactOutput } from ${module}
      redactOutput((text) => text.replaceAll('${key}', '[redacted key]'))
      Promise.reject(Object.assign(new Error('late\\nagain'), { client: { key: '${key}' } }))`
    const args = ['--input-type=module-typescript', '-e', code]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('[redacted key]')
    expect(stderr).not.toContain('canary')
  })
})
