import type { Tool } from '../tool.ts'

export const tool: Tool<{ question: string }> = {
  name: 'ask',
  description: 'Ask the operator; the answer comes later as a message.',
  properties: { question: { type: 'string' } },
  required: ['question'],
  async run(args, kernel) {
    await kernel.call('task.ask', { question: args.question })
    return 'Asked. The answer will come as a message; go on with what does not depend on it.'
  },
}
