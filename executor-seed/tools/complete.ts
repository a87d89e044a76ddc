import type { Tool } from '../tool.ts'

export const tool: Tool<{ summary: string }> = {
  name: 'complete',
  description: 'End the task: its objective is met and you have checked it.',
  properties: { summary: { type: 'string' } },
  required: ['summary'],
  async run(args, kernel) {
    const { accepted, message } = await kernel.call('task.complete', { summary: args.summary })
    return accepted ? `accepted: ${message}` : `error: not accepted: ${message}`
  },
}
