import type { Tool } from '../tool.ts'

export const tool: Tool<{ command: string; timeout_s?: number; background?: boolean }> = {
  name: 'shell',
  description: 'Run a bash command in the sandbox.',
  properties: {
    command: { type: 'string' },
    timeout_s: { type: 'integer', description: 'default 120' },
    background: { type: 'boolean' },
  },
  required: ['command'],
  async run(args, kernel) {
    const { command } = args
    const limit = args.timeout_s === undefined ? {} : { timeoutMs: args.timeout_s * 1000 }
    if (args.background !== true) return kernel.exec(command, limit)
    const { job } = await kernel.call('sandbox.exec', { command, background: true, ...limit })
    return `${job} runs. Its end comes as a message; see jobs for its output.`
  },
}
