import { describe, expect, it } from 'vitest'
import { riskOf } from './risk.ts'

const base = [
  { path: 'main.ts', text: "import './loop.ts'\n" },
  { path: 'loop.ts', text: "import { spawn } from 'node:child_process'\n" },
  { path: 'SELF.md', text: '# Map\n' },
]
const tree = (changed: Record<string, string | null>) =>
  Object.entries({ ...Object.fromEntries(base.map(({ path, text }) => [path, text])), ...changed }).flatMap(
    ([path, text]) => (text === null ? [] : { path, text }),
  )

describe('the risk of a change', () => {
  it.each([
    ['only text', { 'SELF.md': '# Another map\n', 'skills/a.json': '{}' }, 'LOW', 'only text'],
    ['code without more reach', { 'loop.ts': `${base[1]?.text}const a = 1\n` }, 'MED', 'changes code: loop.ts'],
    ['a tool removed', { 'loop.ts': null }, 'MED', 'removes loop.ts'],
    ['the entry point', { 'main.ts': '// other\n' }, 'HIGH', 'main.ts'],
    ['a process started in one more place', { 'a.ts': "import 'node:child_process'\n" }, 'HIGH', 'processes'],
    ['the network', { 'a.ts': "await fetch('x')\n" }, 'HIGH', 'network'],
    ['text run as code', { 'a.ts': "eval('1')\n" }, 'HIGH', 'text as code'],
    ['a computed import', { 'a.ts': 'await import(name)\n' }, 'HIGH', 'computed name'],
    ['the environment', { 'a.ts': 'process.env.KEY\n' }, 'HIGH', 'own process'],
    ['the type checker switched off', { 'a.ts': '// @ts-nocheck\n' }, 'HIGH', 'type checker'],
  ])('[G19] is judged by what it changes: %s', (_name, changed, risk, reason) => {
    const judged = riskOf(base, tree(changed))
    expect(judged.risk).toBe(risk)
    expect(judged.reasons.join('; ')).toContain(reason)
  })

  it('is not raised by reach that it had before, nor by words in text', () => {
    expect(riskOf(base, tree({ 'SELF.md': 'uses eval( and fetch( no more\n' })).risk).toBe('LOW')
    expect(riskOf(base, tree({ 'loop.ts': `// calmer\n${base[1]?.text}` })).risk).toBe('MED')
  })
})
