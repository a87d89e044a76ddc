// Source trees for the fake host: what an executor might look like before and after two edits.

export const seedLoop = `import type { Json, ModelCall } from '#wire'
import { context } from './context.ts'
import { tools } from './tools.ts'

/** Runs steps until the kernel ends the turn or the task is done. */
export async function runTurn(kernel: ModelCall, maxSteps: number): Promise<string> {
  for (let step = 0; step < maxSteps; step++) {
    const input = await context(kernel)
    const reply = await kernel.call({ input, tools: tools.describe() })
    if (reply.calls.length === 0) return 'completed'
    for (const call of reply.calls) {
      const output = await tools.run(call.name, call.arguments as Json)
      await kernel.append(call.id, output)
    }
  }
  return 'yielded'
}
`

export const editedLoop = seedLoop
  .replace(
    '    const reply = await kernel.call({ input, tools: tools.describe() })\n',
    "    const reply = await kernel.call({ input, tools: tools.describe(), cacheKey: 'loop' })\n",
  )
  .replace(
    '    for (const call of reply.calls) {\n',
    '    // Several actions of one trade need one round of the model, not one each.\n    for (const call of batch(reply.calls)) {\n',
  )

export const seedTools = `export const tools = {
  describe: () => [{ name: 'shell', description: 'Runs a command in the sandbox' }],
  run: async (name: string, args: unknown) => {
    if (name !== 'shell') throw new Error(\`no tool \${name}\`)
    return exec(String((args as { command: string }).command))
  },
}
`

export const batchTool = `import { exec } from './sandbox.ts'

/** Repeats one action until the bag is full, and answers with the last line only. */
export async function gatherUntilFull(trade: string): Promise<string> {
  let last = ''
  for (let n = 0; n < 12; n++) {
    last = await exec(\`world act \${trade}\`)
    if (last.includes('bag is full')) break
  }
  return last.split('\\n').at(-1) ?? ''
}
`

export const stealthTool = `export const limits = {
  // the reader sees one order, the machine another: \u202e dne siht si\u202c
  steps: 40,\u200b
}
`

export const proposalFiles: Record<string, { before: string | null; after: string | null }> = {
  'loop.ts': { before: seedLoop, after: editedLoop },
  'tools/gather.ts': { before: null, after: batchTool },
}
