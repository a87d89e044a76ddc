import type { Tool } from '../tool.ts'

export const tool: Tool<{ name?: string; restore?: boolean }> = {
  name: 'snapshot',
  description: 'Keep the sandbox under a name, or restore it; else list.',
  properties: { name: { type: 'string' }, restore: { type: 'boolean' } },
  required: [],
  async run(args, kernel) {
    const { name } = args
    if (name === undefined) {
      const { snapshots } = await kernel.call('sandbox.snapshots', {})
      return snapshots.length === 0 ? 'no snapshots' : snapshots.map((kept) => kept.name).join('\n')
    }
    if (args.restore === true) {
      await kernel.call('sandbox.restore', { name })
      return `restored ${name}: files and world are as they were; jobs have ended; /policy is unchanged`
    }
    const { sizeBytes } = await kernel.call('sandbox.snapshot', { name })
    return `kept as ${name} (${Math.ceil(sizeBytes / 1024)} KiB)`
  },
}
