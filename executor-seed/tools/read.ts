import type { Kernel } from '../kernel.ts'
import type { Tool } from '../tool.ts'

/** Most bytes that one answer shows, and most that the kernel gives at once. */
const SHOWN_BYTES = 7_500
const READ_BYTES = 262_144

export const tool: Tool<{ path: string; from?: number }> = {
  name: 'read',
  description: 'Read a file, a cut result (blob:HASH) or a note (memory:TOPIC).',
  properties: { path: { type: 'string' }, from: { type: 'integer', description: 'first line, default 1' } },
  required: ['path'],
  outputBytes: 8_000,
  async run(args, kernel) {
    const { text, totalBytes } = await load(args.path, kernel)
    const lines = text.split('\n')
    if (lines.at(-1) === '') lines.pop()
    const from = Math.max(1, args.from ?? 1)
    if (from > lines.length && lines.length > 0) return `error: there are only ${lines.length} lines`
    let to = from - 1
    for (let bytes = 0; to < lines.length; to += 1) {
      bytes += Buffer.byteLength(lines[to] ?? '') + 1
      if (bytes > SHOWN_BYTES && to >= from) break
    }
    const shown = lines.slice(from - 1, to).join('\n')
    const notes = to < lines.length ? [`lines ${from} to ${to} of ${lines.length}; go on with from: ${to + 1}`] : []
    if (totalBytes > READ_BYTES)
      notes.push(`only the first ${READ_BYTES} of ${totalBytes} bytes can be read here: use shell`)
    return notes.length === 0 ? shown : `${shown}\n[${notes.join('; ')}]`
  },
}

async function load(path: string, kernel: Kernel): Promise<{ text: string; totalBytes: number }> {
  if (path.startsWith('blob:')) {
    const range = await kernel.call('blob.get', { hash: path.slice(5), length: READ_BYTES })
    return { text: Buffer.from(range.base64, 'base64').toString('utf8'), totalBytes: range.totalBytes }
  }
  if (path.startsWith('memory:')) {
    const { text } = await kernel.call('artifact.get', { name: `memory/${path.slice(7)}` })
    return { text, totalBytes: 0 }
  }
  const file = await kernel.call('sandbox.read', { path: kernel.path(path), length: READ_BYTES })
  if (file.binary) throw new Error(`${path} is not text; look at it with shell (file, xxd, strings)`)
  return file
}
