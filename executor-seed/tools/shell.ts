import type { Tool } from '../tool.ts'

export const tool: Tool<{ command: string; timeout_s?: number }> = {
  name: 'shell',
  description: 'Run a bash command in the sandbox.',
  properties: { command: { type: 'string' }, timeout_s: { type: 'integer', description: 'default 120' } },
  required: ['command'],
  run: (args, kernel) =>
    kernel.exec(args.command, args.timeout_s === undefined ? {} : { timeoutMs: args.timeout_s * 1000 }),
}
