import type { Tool } from '../tool.ts'

export const tool: Tool<{ path: string; text: string }> = {
  name: 'write',
  description: 'Create or replace a file.',
  properties: { path: { type: 'string' }, text: { type: 'string' } },
  required: ['path', 'text'],
  async run(args, kernel) {
    const path = kernel.path(args.path)
    await kernel.call('sandbox.write', { path, text: args.text })
    return `wrote ${Buffer.byteLength(args.text)} bytes to ${path}`
  },
}
