import type { Tool } from '../tool.ts'

export const tool: Tool<{ name?: string; restore?: boolean }> = {
  name: 'snapshot',
  description: 'Keep the sandbox under a name, or restore it; else list.',
  properties: { name: { type: 'string' }, restore: { type: 'boolean' } },
  required: [],
  async run({ name, restore }, kernel) {
    if (name === undefined) {
      const { snapshots } = await kernel.call('sandbox.snapshots', {})
      return snapshots.map((kept) => kept.name).join('\n') || 'no snapshots'
    }
    if (restore !== true) await kernel.call('sandbox.snapshot', { name })
    else await kernel.call('sandbox.restore', { name })
    return restore !== true ? `kept as ${name}` : 'restored: files and world are as they were, jobs have ended'
  },
}
