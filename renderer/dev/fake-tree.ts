// Source trees of the fake host: what an executor might look like, and what is proposed of it.

export type Tree = Readonly<Record<string, string>>

const loop = `import type { Json, ModelCall } from '#wire'
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
const retry = `/** Runs an action once. What fails is told to the model as it is. */
export async function once<T>(action: () => Promise<T>): Promise<T> {
  return await action()
}

/** How long the whole of it may take, ms. */
export const limitMs = 20_000

${Array.from({ length: 24 }, (_, n) => `const wait${n} = ${n * 50}`).join('\n')}

export const waits = [${Array.from({ length: 24 }, (_, n) => `wait${n}`).join(', ')}]

/** Whether an error will be the same next time. */
export function isFinal(error: unknown): boolean {
  return error instanceof TypeError
}
`
const retryTest = `import { expect, it } from 'vitest'
import { once } from '../retry.ts'

it('runs an action once', async () => {
  let runs = 0
  await once(async () => runs++)
  expect(runs).toBe(1)
})
`
const tools = `export const tools = {
  describe: () => [{ name: 'shell', description: 'Runs a command in the sandbox' }],
  run: async (name: string, args: unknown) => {
    if (name !== 'shell') throw new Error(\`no tool \${name}\`)
    return exec(String((args as { command: string }).command))
  },
}
`
const context = `import { instructions } from './instructions.ts'

/** Everything since the turn began, oldest first, so that the prefix stays the same from step to step. */
export async function context(kernel: { items(): Promise<unknown[]> }): Promise<unknown[]> {
  const items = await kernel.items()
  return [instructions, ...items]
}
`
const prompt = `# How you work

- Look before you act.
- Store what you carry before the bag is full.
- Say what you learned in one line.
`

const rows = (from: number) =>
  `export const rows = [\n${Array.from({ length: 2600 }, (_, n) => `  '${from + n}',`).join('\n')}\n]\n`

const skill = (n: number) => retry.replace('once', `skill${n}`)
const skills = (textOf: (n: number) => string): Tree =>
  Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`skills/skill-${n}.ts`, textOf(n)]))

export const seedTree: Tree = {
  ...skills(skill),
  'data/rows.ts': rows(0),
  'data/one-line.json': '[]',
  'context.ts': context,
  'loop.ts': loop,
  'prompt.md': prompt,
  'retry.ts': retry,
  'tests/retry.test.ts': retryTest,
  'tools.ts': tools,
}

export const endlessTree: Tree = {
  ...seedTree,
  'loop.ts': loop.replace('for (let step = 0; step < maxSteps; step++) {', 'for (;;) {'),
}

export const gatherTree: Tree = {
  ...seedTree,
  'loop.ts': loop
    .replace('tools: tools.describe() })', "tools: tools.describe(), cacheKey: 'loop' })")
    .replace(
      '    for (const call of reply.calls) {\n',
      '    // Several actions of one trade need one round of the model, not one each.\n    for (const call of batch(reply.calls)) {\n',
    ),
  'tools/gather.ts': `import { exec } from './sandbox.ts'

/** Repeats one action until the bag is full, and answers with the last line only. */
export async function gatherUntilFull(trade: string): Promise<string> {
  let last = ''
  for (let n = 0; n < 12; n++) {
    last = await exec(\`world act \${trade}\`)
    if (last.includes('bag is full')) break
  }
  return last.split('\\n').at(-1) ?? ''
}
`,
}

export const forgetTree: Tree = {
  ...gatherTree,
  'context.ts': context.replace('[instructions, ...items]', '[instructions, ...items.slice(-4)]'),
}

export const walkTree: Tree = {
  ...gatherTree,
  'loop.ts': gatherTree['loop.ts']?.replace('step++) {\n', 'step++) {\n    await walkByTrade(kernel)\n') ?? '',
  'tools/walk.ts': `/** Reads the map once, and goes on by trade. */
export async function walkByTrade(kernel: { read(path: string): Promise<string> }): Promise<string[]> {
  const map = await kernel.read('/task/map')
  return map.split('\\n').filter((line) => line.startsWith('->'))
}
`,
}

/** High risk: tries again, composes a command, and edits its own test. */
export const retryTree: Tree = {
  ...gatherTree,
  'retry.ts': retry
    .replace(
      `/** Runs an action once. What fails is told to the model as it is. */
export async function once<T>(action: () => Promise<T>): Promise<T> {
  return await action()
}`,
      `/** Runs an action up to four times. */
export async function once<T>(action: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await action()
    } catch (error) {
      if (attempt === 3 || isFinal(error)) throw error
    }
  }
}`,
    )
    .replace('limitMs = 20_000', 'limitMs = 120_000')
    .replace('error instanceof TypeError', 'error instanceof TypeError && !String(error).includes("time-out")'),
  'tests/retry.test.ts': retryTest.replace('toBe(1)', 'toBeLessThanOrEqual(4)'),
  'tools.ts': tools.replace(
    'return exec(String((args as { command: string }).command))',
    'return once(() => exec(`timeout 60 sh -c "$' + '{String((args as { command: string }).command)}"`))',
  ),
}

export const promptTree: Tree = {
  ...gatherTree,
  'prompt.md': prompt.replace(
    '- Say what you learned in one line.\n',
    '- Say what you learned in one line, with the place.\n',
  ),
}

/** What a person may see and a machine may not, and the other way round. */
export const hostileTree: Tree = {
  ...gatherTree,
  'notes/<img src=x onerror=alert(1)>.md': 'A <script>alert(1)</script> and a [link](javascript:alert(1)).\n',
  'notes/gnp.\u202etxt': '## \u202e dne siht si\u202c and a zero\u200bwidth one\n',
  'pаyload.ts': `export const limits = {
  // the reader sees one order, the machine another: \u202e dne siht si\u202c
  steps: 40,\u200b
}
`,
}

/** One bad line in twenty thousand. */
export const longTree: Tree = {
  ...gatherTree,
  'table.ts': `export const table = [\n${Array.from({ length: 20_000 }, (_, n) =>
    n === 13_377 ? "  await import('node:net').then((net) => net.connect(443, '203.0.113.7'))," : `  [${n}, ${n * n}],`,
  ).join('\n')}\n]\n`,
}

const tenSkills = skills((n) => skill(n).replace('20_000', '30_000').replace('const wait7 = 350', 'const wait7 = 300'))

/** Ten files of a usual size. */
export const tenTree: Tree = { ...gatherTree, ...tenSkills }

/** The same, one that is large, and one of a single line. */
export const wideTree: Tree = {
  ...gatherTree,
  ...tenSkills,
  'data/rows.ts': rows(100_000),
  'data/one-line.json': JSON.stringify(Array.from({ length: 9000 }, (_, n) => n)),
}
