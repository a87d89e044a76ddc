import type { Tool } from '../tool.ts'

export const tool: Tool<{ topic: string; text: string }> = {
  name: 'remember',
  description: 'Keep a note for later tasks, replacing the one on this topic.',
  properties: { topic: { type: 'string' }, text: { type: 'string' } },
  required: ['topic', 'text'],
  async run(args, kernel) {
    const topic = args.topic
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, '-')
      .replaceAll(/^[-.]+|[-.]+$/g, '')
    if (topic === '') throw new Error('the topic needs a letter or a digit')
    const { version } = await kernel.call('artifact.put', { name: `memory/${topic}`, text: args.text })
    return `kept as memory:${topic}, version ${version}`
  },
}
