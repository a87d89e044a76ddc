import { describe, expect, it } from 'vitest'
import { read, withFiles } from './checks/facts/tree.fixture.ts'
import { judge } from './checks/static.ts'
import { riskOf } from './risk.ts'

const base = [
  { path: 'main.ts', text: "import './loop.ts'\n" },
  { path: 'loop.ts', text: "import { spawn } from 'node:child_process'\nexport const max = 5\n" },
  { path: 'wire.ts', text: 'export const line = 1\n' },
  { path: 'SELF.md', text: '# Map\n' },
  { path: 'tests/loop.test.ts', text: 'export const expected = 1\n' },
]
const loop = base[1]?.text ?? ''
const risk = (changed: Record<string, string | null>) => {
  const tree = withFiles(base, changed)
  const { details } = judge(read(base), read(tree))
  return riskOf(base, tree, [
    { check: 'scope', details: {} },
    { check: 'static', details },
  ])
}

describe('the risk of a change', () => {
  it.each<[name: string, changed: Record<string, string | null>, tier: string, reason: string]>([
    ['only text', { 'SELF.md': '# Another map\n', 'skills/a.json': '{}' }, 'LOW', 'only text changes (SELF.md)'],
    ['only comments', { 'loop.ts': `// calmer\n${loop}` }, 'LOW', 'only comments and layout change'],
    ['code without more reach', { 'loop.ts': `${loop}const a = 1\n` }, 'MED', 'changes code (loop.ts)'],
    ['a tool removed', { 'loop.ts': null }, 'MED', 'no longer has node:child_process (loop.ts)'],
    ['the entry point', { 'main.ts': 'export {}\n' }, 'HIGH', 'changes main.ts'],
    ['its own tests', { 'tests/loop.test.ts': 'export const expected = 2\n' }, 'HIGH', 'changes its own tests'],
    [
      'a process started in one more place',
      { 'a.ts': "import 'node:child_process'\n" },
      'HIGH',
      'starts processes or threads: node:child_process, line 1 (a.ts)',
    ],
    ['the network', { 'a.ts': "await fetch('x')\n" }, 'HIGH', 'reaches for the network: fetch'],
    ['the environment', { 'a.ts': 'process.env.KEY\n' }, 'HIGH', 'its own process: process.env'],
    ['spending', { 'loop.ts': loop.replace('5', '50') }, 'HIGH', 'may use more: max (limit) goes from 5 to 50, line 2'],
    ['spending in data', { 'control.json': '{ "effort": "high" }' }, 'HIGH', 'may use more: effort'],
    [
      'the guardian',
      { 'a.ts': "await kernel.call('policy.withdraw', {})\n" },
      'HIGH',
      'asks the guardian: policy.withdraw',
    ],
    [
      'what its charter keeps',
      { 'wire.ts': 'export const line = 2\n' },
      'KERNEL',
      'kept from the agent by its charter',
    ],
    ['a file of the kernel', { 'package.json': '{}' }, 'KERNEL', 'a file that the kernel writes'],
  ])('[G19] is judged by what it changes: %s', (_name, changed, tier, reason) => {
    const judged = risk(changed)
    expect(judged.risk).toBe(tier)
    expect(judged.reasons[0]).toContain(reason)
  })

  it('of data is that of a program where one loads it, whatever it is called', () => {
    const loads = { 'loop.ts': `import a from './a.json' with { type: 'json' }\n${loop}` }
    const tierOf = (changed: Record<string, string>) => risk(changed).files.find(({ path }) => path === 'a.json')?.risk
    expect(tierOf({ ...loads, 'a.json': '{ "a": 5 }' })).toBe('MED')
    expect(tierOf({ 'a.json': '{ "a": 5 }' })).toBe('LOW')
  })

  it('is told file by file, with the part of the policy that each is', () => {
    const tool = "export const tool = { name: 'a', description: 'A.', properties: {}, run: () => fetch('x') }\n"
    const { risk: tier, files } = risk({
      'SELF.md': '# Map of more\n',
      'anywhere.ts': tool,
      'loop.ts': `${loop}const a = 1\n`,
    })
    expect(tier).toBe('HIGH')
    expect(files).toEqual([
      { path: 'SELF.md', risk: 'LOW', reasons: ['only text changes'], tags: ['doc'] },
      {
        path: 'anywhere.ts',
        risk: 'HIGH',
        reasons: expect.arrayContaining(['reaches for the network: fetch, line 1']),
        tags: ['tool'],
      },
      { path: 'loop.ts', risk: 'MED', reasons: ['changes code'], tags: ['loop'] },
    ])
  })

  it('is not raised by reach that it had before, nor by words in text', () => {
    expect(risk({ 'SELF.md': 'uses eval( and fetch( no more\n' }).risk).toBe('LOW')
    expect(risk({ 'loop.ts': loop.replace('max = 5', 'max = 4') }).risk).toBe('MED')
  })

  it('of code that no static check has read is high', () => {
    const tree = withFiles(base, { 'SELF.md': 'x', 'a.ts': '' })
    expect(riskOf(base, tree, [])).toMatchObject({
      risk: 'HIGH',
      reasons: expect.arrayContaining([expect.stringContaining('a.ts')]),
    })
    expect(riskOf(base, withFiles(base, { 'SELF.md': 'x' }), []).risk).toBe('LOW')
  })
})
