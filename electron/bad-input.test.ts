// The command line and the starts, as their users meet them: real processes, their words and their exit codes.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { boxMissing, shell, writePack } from '../kernel/testing/kernel.ts'
import { hint } from './command-name.ts'
import { nodeProblem } from './node-version.mjs'

if (boxMissing) console.warn(`skipped in part: ${boxMissing}`)

const cli = join(import.meta.dirname, 'cli.ts')
let base: string
let dataDir: string
const started: ChildProcess[] = []
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'exodesk-bad-'))
  dataDir = join(base, 'data')
})
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
  rmSync(base, { recursive: true, force: true })
})

interface Running {
  child: ChildProcess
  /** Resolves once stdout has shown a line that holds this. */
  line(text: string): Promise<string>
  /** The same of stderr. */
  note(text: string): Promise<void>
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>
}

function start(command: string, args: string[], env: Record<string, string> = {}): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  started.push(child)
  let [stdout, stderr] = ['', '']
  const lines: string[] = []
  let look = () => {}
  const { stdout: out, stderr: err } = child
  createInterface(out).on('line', (line) => {
    stdout += `${line}\n`
    lines.push(line)
    look()
  })
  err.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return {
    child,
    line: (text) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = lines.find((line) => line.includes(text))
          if (found !== undefined) resolve(found)
        }
        look()
        child.once('exit', (code) => reject(new Error(`ended with ${code} before: ${stdout}${stderr}`)))
      }),
    note: (text) =>
      new Promise((resolve) => {
        const heard = () => {
          if (!stderr.includes(text)) return
          err.off('data', heard)
          resolve()
        }
        err.on('data', heard)
        heard()
      }),
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr }))),
  }
}

const exodesk = (...args: string[]) => start(process.execPath, [cli, ...args])
const said = async (running: Running) => {
  const { code, stdout, stderr } = await running.ended
  return { code, stdout, stderr }
}

describe('a data directory', () => {
  /** The command in a mount namespace where `mounts` hold. */
  const inside = (mounts: string[], ...args: string[]) =>
    start('bwrap', ['--dev-bind', '/', '/', ...mounts, process.execPath, cli, ...args])

  it.skipIf(boxMissing)('that is read-only is refused with what to do', async () => {
    mkdirSync(dataDir)
    const { code, stdout, stderr } = await said(inside(['--ro-bind', dataDir, dataDir], 'tasks', '--data', dataDir))
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toContain(
      `${dataDir} cannot be the data directory: its file system is read-only. Choose another with --data`,
    )
  })

  it.skipIf(boxMissing)('with little space is refused before anything is begun', async () => {
    mkdirSync(dataDir)
    const small = ['--size', String(8 * 1024 * 1024), '--tmpfs', dataDir]
    const { code, stderr } = await said(inside(small, 'tasks', '--data', dataDir))
    expect(code).toBe(3)
    expect(stderr).toMatch(/only 8 MB are free on its disk, and 64 MB are the least to begin with: make room/)
  })

  it('may have any name, and be too deep for the address of a socket', async () => {
    const odd = join(base, 'Daten für “Exodesk”', '日本語', 'd'.repeat(80), 'data')
    const tasks = await said(exodesk('tasks', '--data', odd))
    const verified = await said(exodesk('verify', '--data', odd, '--json'))
    expect([verified.code, JSON.parse(verified.stdout).ok]).toEqual([0, true])
    expect([tasks.code, tasks.stdout]).toEqual([0, 'There are no tasks yet: exodesk run tasks/hollowmere/skills\n'])
  })
})

describe('flags', () => {
  it.each([
    [
      ['run', 'p', '--budget', '1,5'],
      '--budget takes an amount in dollars such as 2 or 0.50 (with a point, and no sign), not "1,5"',
    ],
    [['run', 'p', '--budget', 'NaN'], 'not "NaN"'],
    [['run', 'p', '--budget=-1'], 'not "-1"'],
    [['run', 'p', '--budget-tokens', '0'], '--budget-tokens takes a whole number of at least 1, not "0"'],
    [['run', 'p', '--max-steps', '1e3'], '--max-steps takes a whole number'],
    [['run', 'p', '--frob'], "Unknown option '--frob'"],
    [['run', 'p', '--approve', 'some'], '--approve is one of none, rules, all, not "some"'],
    [['run'], 'PACK is missing'],
    [['reject', 'P-1'], '--reason is missing: it is what the agent learns from'],
    [['reject', 'P-1', '--reason', ' '], '--reason is missing: it is what the agent learns from'],
    [['return', 'P-1'], '--reason is missing: it says what to change'],
    [['return', 'P-1', '--reason', 'x', '--comment', 'x'], '--comment takes PATH:LINE=TEXT, not "x"'],
    [['approve', 'P-1', '--override', 'boot'], '--override takes CHECK=REASON, not "boot"'],
    [['reject', 'P-1', '--reason', 'x', '--category', 'bad'], '--category is one of wrong-idea, unsafe'],
    [['defer', 'P-1', '--until', 'soon'], '--until takes a time such as 2030-01-31T18:00Z, not "soon"'],
    [['approve', 'a', 'P-1'], 'the agent is given as --agent: write P-1 --agent a'],
    [['revisions', 'a'], 'the agent is given as --agent: write --agent a'],
    [['part', 'P-1'], 'give either --keep, the hunks that stay, or --drop, those that go'],
    [['part', 'P-1', '--drop', 'first'], '--drop takes ID or ID=WHY, not "first"'],
    [['edit', 'P-1'], 'give either --write DIR, to lay out the files, or --tree DIR, to take them back'],
    [['edit', 'P-1', '--tree', '/nowhere'], '--tree /nowhere is not a folder'],
    [['quarantine', 'shell'], '--reason is missing: the agent reads it'],
    [['quarantine'], 'TOOL is missing'],
    [['rules', 'forget'], 'there are rules, rules preview, rules add and rules revoke, not "forget"'],
    [['rules', 'revoke', 'R-1'], '--reason is missing: why it is revoked'],
    [['profile', 'set'], '--reason is missing: who reads history wants to know why'],
    [['profile', 'set', '--reason', 'x', '--check', 'boot.gates=maybe'], '--check takes CHECK.gates=yes|no'],
    [['frobnicate'], 'There is no command "frobnicate"'],
  ])('%j are wrong, with what to write instead and exit code 2', async (args, why) => {
    const { code, stdout, stderr } = await said(exodesk(...args))
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(why)
  })

  it.skipIf(boxMissing)('that no run can have are refused by the kernel, with exit code 2 and no task', async () => {
    const pack = writePack(join(base, 'pack'), { script: [] })
    const run = async (...flags: string[]) =>
      said(exodesk('run', pack, '--model', 'sim-script', '--data', dataDir, ...flags))
    const [budget, endpoint] = [await run('--budget', '0'), await run('--allow-endpoint', 'x')]
    expect([budget.code, endpoint.code]).toEqual([2, 2])
    expect(budget.stderr).toContain('a budget of 0 dollars lets no call through: give more, or leave it out')
    expect(endpoint.stderr).toContain('has no endpoint "x"; it has: none')
    expect((await said(exodesk('tasks', '--data', dataDir, '--json'))).stdout).toBe('')
  })
})

describe.skipIf(boxMissing)('a run by rules', { timeout: 300_000 }, () => {
  it('is told that there are none in force, and not where there is one', async () => {
    const pack = writePack(join(base, 'pack'), { script: [shell('true')], toml: '[exodesk]\nmax_steps = 1' })
    const run = () => said(exodesk('run', pack, '--model', 'sim-script', '--approve', 'rules', '--data', dataDir))
    const words = /No rule is in force for --approve rules: every proposal waits for you/
    expect((await run()).stderr).toMatch(words)
    expect((await said(exodesk('rules', 'add', '--data', dataDir))).code).toBe(0)
    expect((await run()).stderr).not.toMatch(words)
  })
})

describe.skipIf(boxMissing)('a run that is followed', { timeout: 300_000 }, () => {
  const pack = (second: string) =>
    writePack(join(base, 'pack'), { script: ['echo begun', second, ...Array(20).fill('sleep 0.1')].map(shell) })
  const run = (second: string) => exodesk('run', pack(second), '--model', 'sim-script', '--data', dataDir)
  const stateOf = async () => JSON.parse((await said(exodesk('tasks', '--data', dataDir, '--json'))).stdout)

  it('is paused and kept by one Ctrl-C, and stopped by a second', async () => {
    const first = run('sleep 4')
    await first.line('step 1')
    first.child.kill('SIGINT')
    await first.note('Pausing T-1')
    first.child.kill('SIGINT')
    const { code, stderr } = await first.ended
    expect(code).toBe(1)
    expect(stderr).toContain('Pausing T-1 at its next safe point, and keeping it. Ctrl-C again stops it.')
    expect(stderr).toContain('Stopping T-1.')
    expect(await stateOf()).toMatchObject({ outcome: 'stopped' })
  })

  it('is kept where its output is read no more, and says so', async () => {
    const one = run('echo again')
    await one.line('step 1')
    one.child.stdout?.destroy()
    const { code, stderr } = await one.ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/T-1 is kept\. Go on with: exodesk resume T-1 --data /)
    const verified = await said(exodesk('verify', '--data', dataDir, '--json'))
    expect(JSON.parse(verified.stdout).ok).toBe(true)
    expect(await stateOf()).toMatchObject({ outcome: null })
  })
})

describe('a port', () => {
  it('that is taken is named, with what to do', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    mkdirSync(join(base, 'renderer'))
    const { serve } = await import('./serve.ts')
    const words: string[] = []
    const write = process.stderr.write
    process.stderr.write = ((text: string) => words.push(text) > 0) as typeof write
    const umask = process.umask()
    const code = await serve({ dataDir, port }).finally(() => {
      process.stderr.write = write
      process.umask(umask)
      server.close()
    })
    expect(code).toBe(3)
    if (words.join('').includes('not built')) console.warn('skipped in part: dist/renderer is not built')
    else
      expect(words.join('')).toContain(
        `port ${port}: another program listens there. Choose another with --port, or leave it out`,
      )
  })
})

describe('a Node that is too old', () => {
  it('is told so, with what to install', () => {
    for (const version of ['v12.22.0', 'v18.20.4', 'v20.17.0'])
      expect(nodeProblem(version, '>=20.18')).toMatch(/needs Node 20\.18 or later to start; this is v.*Install one/)
    for (const version of ['v20.18.0', 'v22.0.0', 'v24.21.0', 'v100.0.0'])
      expect(nodeProblem(version, '>=20.18')).toBeNull()
  })

  it('can read all that a start loads before it is told', () => {
    for (const file of ['start.mjs', 'exodesk.mjs', 'node-version.mjs']) {
      const source = readFileSync(join(import.meta.dirname, file), 'utf8')
      // Nodes from 12 on know these; nothing newer may be in them.
      expect(source).not.toMatch(/\?\.|\?\?|^await |#\w+\(|\.at\(|replaceAll/m)
      expect(
        [...source.matchAll(/^import .* from '(.*)'/gm)].every(([, from]) =>
          /^(\.\/node-version\.mjs|node:fs)$/.test(from ?? ''),
        ),
      ).toBe(true)
    }
  })
})

describe('a hint', () => {
  it('names commands as they are typed where this runs', async () => {
    expect(hint('Go on with: exodesk resume T-1')).toBe('Go on with: exodesk resume T-1')
    writeFileSync(
      join(base, 'x.ts'),
      `import { hint } from ${JSON.stringify(join(import.meta.dirname, 'command-name.ts'))}\nconsole.log(hint('a: exodesk resume T-1, "exodesk serve"; the folder exodesk, Exodesk runs'))\n`,
    )
    const { stdout } = await said(
      start(process.execPath, [join(base, 'x.ts')], { EXODESK_COMMAND: 'npm run -s exodesk --' }),
    )
    expect(stdout).toBe(
      'a: npm run -s exodesk -- resume T-1, "npm run -s exodesk -- serve"; the folder exodesk, Exodesk runs\n',
    )
  })
})
