import { expect, it } from 'vitest'
import { KernelError } from '../errors.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import { createReader } from '../tools/reading.ts'
import { factsOf } from './checks/facts/facts.ts'
import { reachOf } from './reach.ts'

/** A box that is this process: what a test writes is no stranger's. */
const provider = (run: (stdin: string) => string) =>
  ({
    run: async (_box: unknown, { stdin }: { stdin: string }) => ({
      ...{ exitCode: 0, signal: null, timedOut: false, outOfMemory: false },
      ...{ stdout: Buffer.from(run(stdin)), stderr: Buffer.alloc(0) },
    }),
  }) as unknown as SandboxProvider
const reads = provider((stdin) => JSON.stringify(factsOf(JSON.parse(stdin))))
const tree = [
  {
    path: 'tools/wiki.ts',
    text: "import { fetchPage } from '../net.ts'\nimport type { Tool } from '../tool.ts'\nconst method = ['sandbox', 'write'].join('.')\nexport const run = (kernel: any) => kernel.call(method, fetchPage())\n",
  },
  { path: 'net.ts', text: "import { get } from 'https'\nexport const fetchPage = () => get('/')\n" },
  { path: 'tests/wiki.test.ts', text: "import { run } from '../tools/wiki.ts'\n" },
]

it('what a tool declares is what its syntax tree says, with all that it loads: names in pieces as well', async () => {
  const reader = await createReader((files) => reachOf(reads, files))('r1', tree)
  expect(reader.by).toBe('syntax')
  expect(reader.declared('tools/wiki.ts')).toEqual(['node:https', 'sandbox.write'])
  expect(reader.importers('tools/wiki.ts')).toEqual(['tests/wiki.test.ts'])
})

it('a revision is read once, and by its words only while no box is to be had', async () => {
  let tries = 0
  const readerOf = createReader((files) => {
    tries += 1
    return reachOf(tries > 1 ? reads : noBox, files)
  })
  const words = await readerOf('r1', tree)
  expect([words.by, words.declared('tools/wiki.ts')]).toEqual(['words', []])
  const [first, second] = await Promise.all([readerOf('r1', tree), readerOf('r1', tree)])
  expect([first?.by, second, tries]).toEqual(['syntax', first, 2])
})

const noBox = provider(() => {
  throw new KernelError('unavailable', 'no box')
})
