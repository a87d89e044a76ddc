// A proposal from the command line: its hunks, a part of it, an edit, comments, a trial and an opinion. The commands are processes
// that speak to a host here.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boxMissing, complete, shell, startSimulator, writePack } from '../../kernel/testing/kernel.ts'
import { type Host, openHost } from '../host.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const root = join(import.meta.dirname, '../..')
const simulator = startSimulator()
afterAll(() => simulator.stop())

let dir: string
let host: Host
const umask = process.umask()
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-proposal-'))
  host = await openHost('test', join(dir, 'data'))
})
afterEach(async () => {
  await host.close()
  process.umask(umask)
  rmSync(dir, { recursive: true, force: true })
})

async function exodesk(args: string[], { input = '', env = {} as Record<string, string> } = {}) {
  const all = [join(import.meta.dirname, '../cli.ts'), ...args, '--data', join(dir, 'data')]
  // No terminal at all: nobody can be asked.
  const child = spawn(process.execPath, all, { env: { ...process.env, ...env }, stdio: 'pipe', detached: true })
  child.stdin.end(input)
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const [code] = await once(child, 'close')
  return { code: code as number | null, ...said }
}

async function json<T>(args: string[]): Promise<T[]> {
  const { code, stdout, stderr } = await exodesk([...args, '--json'])
  if (code !== 0) throw new Error(`exodesk ${args.join(' ')}: ${stderr}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}

/** Not what is tested here, and slow. */
async function withoutChecks(): Promise<void> {
  const [profile] = await json<{ checks: { check: string }[] }>(['profile'])
  const off = (profile?.checks ?? []).flatMap(({ check }) => ['--check', `${check}.runs=no`])
  expect(await exodesk(['profile', 'set', '--reason', 'not tested here', ...off])).toMatchObject({ code: 0 })
}

/** A line before and a line after all of loop.ts. */
async function proposeTwoHunks(agent: string): Promise<void> {
  const tree = join(dir, 'tree')
  const seed = join(root, 'executor-seed')
  cpSync(seed, tree, { recursive: true, filter: (path) => !/\/(tsconfig\.json|tests)$/.test(path.slice(seed.length)) })
  const loop = join(tree, 'loop.ts')
  writeFileSync(loop, `// the first of two\n${readFileSync(loop, 'utf8')}// the second of two\n`)
  const args = ['propose', '--agent', agent, '--tree', tree, '--why', 'to be read']
  expect(await exodesk(args)).toMatchObject({ code: 0, stderr: '' })
}

interface Hunk {
  id: string
  path: string
  added: string[]
}
interface Shown {
  state: string
  diff: string
  comments: { path: string; line: number; text: string }[]
  trials: { state: string }[]
  opinions: { model: string }[]
}

describe.skipIf(boxMissing)('a proposal from the command line', () => {
  it('is taken in part, then edited, and returned with comments on its lines; each is a proposal of its own that waits', async () => {
    await withoutChecks()
    await proposeTwoHunks('kim')
    // There is one agent: it need not be named.
    const hunks = await json<Hunk>(['hunks', 'P-1'])
    expect(hunks.map(({ path, added }) => [path, added])).toEqual([
      ['loop.ts', ['// the first of two']],
      ['loop.ts', ['// the second of two']],
    ])
    expect((await exodesk(['hunks', 'P-1'])).stdout).toContain('  +// the second of two\n')
    const [first, second] = hunks.map(({ id }) => id)
    const wrong = await exodesk(['part', 'P-1', '--keep', 'ffff'])
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining(`there is no hunk ffff: there are ${first}`),
    ])
    const part = await exodesk(['part', 'P-1', '--drop', `${second}=not this one`])
    expect(part).toMatchObject({ code: 0, stderr: '' })
    expect(part.stdout).toMatch(/^P-2, made out of P-1, is ready .*It is not approved yet: .*approve P-2 --agent kim/s)
    const [half] = await json<Shown>(['proposals', 'P-2'])
    expect(half?.diff).toContain('+// the first of two')
    expect(half?.diff).not.toContain('the second')

    const edited = join(dir, 'edited')
    expect((await exodesk(['edit', 'P-2', '--write', edited])).stdout).toContain(
      `edit P-2 --agent kim --tree ${edited}`,
    )
    const same = await exodesk(['edit', 'P-2', '--tree', edited])
    expect([same.code, same.stderr]).toEqual([2, expect.stringContaining('nothing was edited')])
    const full = await exodesk(['edit', 'P-2', '--write', edited])
    expect([full.code, full.stderr]).toEqual([2, expect.stringContaining('is not empty: name a new folder')])
    writeFileSync(join(edited, 'SELF.md'), 'I am short.\n')
    rmSync(join(edited, 'package.json'), { force: true })
    expect(await exodesk(['edit', 'P-2', '--tree', edited])).toMatchObject({ code: 0, stderr: '' })
    const [mine] = await json<Shown>(['proposals', 'P-3'])
    expect(mine?.diff).toContain('+I am short.')
    expect(mine?.diff).toContain('+// the first of two')

    // What is refused says why, and nothing before it.
    const refused = await exodesk(['return', 'P-3', '--reason', 'see there', '--comment', 'loop.ts:99999=where?'])
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toMatch(/^exodesk return: a comment is on line 99999 of loop\.ts, which has \d+ lines/)
    const returned = await exodesk(['return', 'P-3', '--reason', 'see there', '--comment', 'loop.ts:1=say what for'])
    expect([returned.code, returned.stderr]).toEqual([0, ''])
    const shown = (await exodesk(['proposals', 'P-3'])).stdout
    expect(shown).toMatch(/^P-3 of kim: returned, .*\n {2}no verdict now: .*see there/)
    expect(shown).toContain('  comment on loop.ts:1: say what for\n')
  }, 240_000)

  it('is tried and judged with a sealed key, whose passphrase the command asks for; it then shows both', async () => {
    const { origin } = await simulator.start()
    const url = `${origin}/seed/0/v1`
    writeFileSync(join(dir, 'passphrase'), 'open sesame\n')
    const env = { EXODESK_PASSPHRASE_FILE: join(dir, 'passphrase') }
    const key = await exodesk(['key', 'add', 'main', '--for', url], { input: 'sk-of-the-operator-1234567890', env })
    expect(key).toMatchObject({ code: 0 })
    await withoutChecks()
    const pack = writePack(join(dir, 'pack'), {
      script: [...Array.from({ length: 9 }, () => shell('true')), complete()],
    })
    const model = ['--model', 'sim-script', '--base-url', url, '--key', 'main']
    const run = ['run', pack, '--agent', 'kim', ...model, '--budget-tokens', '900000', '--max-steps', '1']
    expect(await exodesk(run, { env })).toMatchObject({ code: 1 })
    await proposeTwoHunks('kim')

    // The keys are locked again.
    await host.close()
    host = await openHost('test', join(dir, 'data'))
    const trial = ['trial', 'P-1', '--budget-tokens', '2000000', '--steps', '2']
    const locked = await exodesk(trial)
    expect([locked.code, locked.stdout]).toEqual([3, ''])
    expect(locked.stderr).toMatch(/the keys need their passphrase.*EXODESK_PASSPHRASE_FILE/s)
    const tried = await exodesk(trial, { env })
    expect([tried.code, tried.stderr]).toEqual([0, expect.stringContaining('TR-1: candidate, step')])
    expect(tried.stdout).toMatch(/active +all steps done +2 .*\n +candidate +all steps done +2 /)

    await host.close()
    host = await openHost('test', join(dir, 'data'))
    const judge = ['opinion', 'P-1', '--model', 'sim-reviewer', '--base-url', url, '--key', 'main']
    expect((await exodesk(judge)).code).toBe(3)
    const judged = await exodesk(judge, { env })
    expect([judged.code, judged.stdout]).toEqual([0, expect.stringMatching(/^sim-reviewer says of P-1 .*claimed/)])

    const shown = (await exodesk(['proposals', 'P-1'])).stdout
    expect(shown).toMatch(/TR-1 of P-1 \(kim\) is finished\n/)
    expect(shown).toMatch(/sim-reviewer says \(event \d+; claimed, no verdict\): "P-1 changes/)
    expect((await exodesk(['report', '--agent', 'kim'])).stdout).toMatch(
      /1 trial: 4 steps, \d+ tokens, .*beside the figures above/,
    )
  }, 300_000)
})
