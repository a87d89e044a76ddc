import type { Tool } from '../tool.ts'

const LINES_MAX = 60

export const tool: Tool<{ pattern: string; path?: string }> = {
  name: 'search',
  description: 'Find lines that match an extended regular expression in files below path.',
  properties: { pattern: { type: 'string' }, path: { type: 'string' } },
  required: ['pattern'],
  async run(args, kernel) {
    const command = `grep -rnIE -- ${quote(args.pattern)} ${quote(kernel.path(args.path ?? '.'))} | cut -c1-300 | head -n ${LINES_MAX + 1}`
    const output = await kernel.exec(command)
    const lines = output.split('\n')
    if (output === '') return 'no match'
    if (lines.length <= LINES_MAX) return output
    return `${lines.slice(0, LINES_MAX).join('\n')}\n[more than ${LINES_MAX} lines match: narrow the pattern or the path]`
  },
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
