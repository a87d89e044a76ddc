import { createHash } from 'node:crypto'
import type { Tool } from '../tool.ts'

const FILE_BYTES = 262_144

export const tool: Tool<{ path: string; old: string; new: string }> = {
  name: 'edit',
  description: 'Replace a piece of a file; old must occur in it exactly once.',
  properties: { path: { type: 'string' }, old: { type: 'string' }, new: { type: 'string' } },
  required: ['path', 'old', 'new'],
  async run(args, kernel) {
    const path = kernel.path(args.path)
    const file = await kernel.call('sandbox.read', { path, length: FILE_BYTES })
    if (file.binary) throw new Error(`${path} is not text`)
    if (file.totalBytes > FILE_BYTES) throw new Error(`${path} is over ${FILE_BYTES} bytes: change it with shell`)
    if (args.old === '') throw new Error('old is empty: give the text to replace, or use write for a new file')
    const at = occurrences(file.text, args.old)
    if (at.length === 0) throw new Error(`old does not occur in ${path}. ${nearMiss(file.text, args.old)}`)
    if (at.length > 1) {
      const lines = at.map((index) => lineAt(file.text, index)).join(', ')
      throw new Error(`old occurs ${at.length} times in ${path} (lines ${lines}): include more lines around it`)
    }
    const index = at[0] ?? 0
    const text = file.text.slice(0, index) + args.new + file.text.slice(index + args.old.length)
    // The hash guards against a change by another process between the reading and the writing.
    await kernel.call('sandbox.write', { path, text, expect: createHash('sha256').update(file.text).digest('hex') })
    return `edited ${path} at line ${lineAt(file.text, index)}`
  },
}

function occurrences(text: string, piece: string): number[] {
  const at: number[] = []
  for (let index = text.indexOf(piece); index >= 0; index = text.indexOf(piece, index + piece.length)) at.push(index)
  return at
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

/** Shows the lines that `piece` was probably meant to be: those at which its first line occurs but for white space. */
function nearMiss(text: string, piece: string): string {
  const wanted = piece.split('\n')
  const first = wanted.find((line) => line.trim() !== '')?.trim() ?? ''
  const lines = text.split('\n')
  const index = first === '' ? -1 : lines.findIndex((line) => line.includes(first))
  if (index < 0) return 'Its first line is nowhere in the file: read the file again.'
  const there = lines.slice(index, index + Math.min(wanted.length, 12)).join('\n')
  return `From line ${index + 1} the file has (mind the white space):\n${there}`
}
