import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { calls } from './answers.fixture.ts'
import { type Ends, FakeKernel } from './kernel.fixture.ts'

const seed = fileURLToPath(new URL('..', import.meta.url))
const node = join(seed, '../node_modules/.bin/node')
const undo: (() => void)[] = []
afterEach(() => {
  for (const step of undo.splice(0)) step()
})

/** The policy as production starts it: a copy without its tests, read-only, under Node's permission model. */
function spawnPolicy(change: (tree: string) => void = () => {}): Ends & { child: ChildProcess; stderr(): string } {
  const tree = mkdtempSync(join(tmpdir(), 'policy-'))
  undo.push(() => rmSync(tree, { recursive: true }))
  cpSync(seed, tree, { recursive: true, filter: (path) => !/\/tests(\/|$)|tsconfig/.test(path.slice(seed.length - 1)) })
  writeFileSync(join(tree, 'package.json'), '{"type":"module"}')
  change(tree)
  const child = spawn(node, ['--permission', `--allow-fs-read=${tree}`, join(tree, 'main.ts')], {
    stdio: 'pipe',
    env: {},
  })
  undo.push(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8')
  })
  return {
    child,
    stderr: () => stderr,
    write: (line) => child.stdin?.write(line),
    onLine: (listener) => createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', listener),
    close: () => child.kill('SIGKILL'),
  }
}

describe('the policy as a process', () => {
  it('works under the permission model, with no access but to its own source', async () => {
    let step = 0
    const kernel = new FakeKernel(() => [
      step++ < 3 ? calls('shell', { command: 'ls' }) : calls('complete', { summary: 'done' }),
    ])
    kernel.exec = () => ({ stdout: 'ü'.repeat(50_000) })
    const policy = spawnPolicy()
    expect(await kernel.connect(policy)).toMatchObject({ wire: 1, name: 'exodesk seed' })
    expect(await kernel.request('ping', { nonce: 7 })).toEqual({ nonce: 7 })
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed', steps: 4 })
    expect(policy.stderr()).toBe('')
    const exited = new Promise((resolve) => policy.child.on('exit', resolve))
    policy.child.stdin?.end()
    expect(await exited).toBe(0)
  })

  it('offers a tool learned by the recipe of SELF.md, and what it prints does not reach the wire', async () => {
    let step = 0
    const kernel = new FakeKernel(() => [
      step++ === 0 ? calls('count_lines', { path: "it's.txt" }) : calls('complete', { summary: '' }),
    ])
    const commands: string[] = []
    kernel.exec = (command) => {
      commands.push(command)
      return { stdout: '12\n' }
    }
    const policy = spawnPolicy((tree) => {
      const { name, source, line } = recipe(readSelf(tree))
      writeFileSync(
        join(tree, 'tools', `${name}.ts`),
        source.replace('return ', "console.log('hi'); process.stdout.write('ho'); return "),
      )
      writeFileSync(join(tree, 'tools/index.ts'), `${readIndex(tree)}${line}\n`)
    })
    const init = await kernel.connect(policy)
    expect(init.tools.map(({ name }) => name)).toContain('count_lines')
    expect(await kernel.turn()).toMatchObject({ outcome: 'completed' })
    expect(commands).toEqual(["wc -l < '/task/it'\\''s.txt'"])
    expect(kernel.sent[1]?.input.at(-1)?.output).toBe('12')
    expect(policy.stderr()).toBe('hi\nho')
  })
})

function readSelf(tree: string): string {
  return readFileSync(join(tree, 'SELF.md'), 'utf8')
}
function readIndex(tree: string): string {
  return readFileSync(join(tree, 'tools/index.ts'), 'utf8')
}

/** The example of SELF.md: its file and its line of the index. */
function recipe(self: string): { name: string; source: string; line: string } {
  const source = /```ts\n(import type \{ Tool[\s\S]*?)```/.exec(self)?.[1] ?? ''
  const name = /name: '(\w+)'/.exec(source)?.[1] ?? ''
  const line = new RegExp(`export \\{ tool as ${name} \\} from '\\./${name}\\.ts'`).exec(self)?.[0] ?? ''
  return { name, source, line }
}
