// The command line as a process: what it asks, what it shows, and what it refuses.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const cli = join(import.meta.dirname, '../cli.ts')
const secret = 'sk-canary-1f2e3d4c5b6a7980'
const passphrase = 'open sesame'
const home = 'https://api.example.test/v1'
const noTerminal = existsSync('/usr/bin/script')
  ? null
  : 'no script(1) to make a terminal with (apt-get install bsdutils)'
if (noTerminal) console.warn(`skipped: ${noTerminal}`)

let dir: string
let data: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-keys-'))
  data = join(dir, 'data')
  writeFileSync(join(dir, 'passphrase'), `${passphrase}\n`)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

async function ended(child: ChildProcess): Promise<Ended> {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const [code] = await once(child, 'close')
  return { code: code as number | null, ...said }
}

/** A process of no terminal at all, as of a service. */
function exodesk(args: string[], input = '', env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [cli, 'key', ...args, '--data', data], {
    env: { ...process.env, ...env },
    stdio: 'pipe',
    detached: true,
  })
  child.stdin.end(input)
  return ended(child)
}

const withFile = () => ({ EXODESK_PASSPHRASE_FILE: join(dir, 'passphrase') })

/** The same at a terminal, where each prompt is answered in turn. Resolves with all that the screen showed. */
async function atTerminal(args: string[], answers: string[]): Promise<{ code: number | null; screen: string }> {
  const command = [process.execPath, cli, 'key', ...args, '--data', data].map((word) => `'${word}'`).join(' ')
  const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], { stdio: 'pipe' })
  let screen = ''
  const left = [...answers]
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    if (/(?:for the keys|of the keys|same again|Key for \S+): $/.test(screen)) child.stdin.write(`${left.shift()}\r`)
  })
  const [code] = await once(child, 'close')
  return { code: code as number | null, screen }
}

describe('exodesk key', () => {
  it('reads a key from stdin and its passphrase from a file, and shows neither', async () => {
    const added = await exodesk(['add', 'main', '--for', home], `${secret}\n`, withFile())
    expect(added).toMatchObject({ code: 0, stderr: '' })
    expect(added.stdout).toContain('main (version 1) is sealed, for https://api.example.test alone')
    const listed = await exodesk(['list', '--json'])
    expect(JSON.parse(listed.stdout)).toMatchObject({ name: 'main', origin: 'https://api.example.test' })
    const removed = await exodesk(['remove', 'main'])
    expect(removed.code).toBe(0)
    expect(JSON.stringify([added, listed, removed])).not.toMatch(/canary|sesame/)
    for (const file of readdirSync(data).filter((name) => !name.includes('.sock') && name !== 'boxes'))
      expect(readFileSync(join(data, file)).includes('canary'), file).toBe(false)
  })

  it('takes the passphrase from a descriptor', async () => {
    const child = spawn(
      'bash',
      ['-c', `exec 3< ${dir}/passphrase; exec ${process.execPath} ${cli} key add main --for ${home} --data ${data}`],
      { env: { ...process.env, EXODESK_PASSPHRASE_FILE: '/dev/fd/3' }, stdio: 'pipe' },
    )
    child.stdin.end(secret)
    expect(await ended(child)).toMatchObject({ code: 0, stdout: expect.stringContaining('is sealed') })
  })

  it.each([
    ['no terminal for a passphrase', ['add', 'main', '--for', home], {}, 3, /no terminal.*EXODESK_PASSPHRASE_FILE/s],
    [
      'a passphrase file that is not there',
      ['add', 'main', '--for', home],
      { EXODESK_PASSPHRASE_FILE: '/nowhere' },
      3,
      /gives no passphrase/,
    ],
    ['a key as an argument', ['add', 'main', secret, '--for', home], {}, 2, /never an argument/],
    ['no base URL', ['add', 'main'], {}, 2, /--for BASE-URL is missing/],
    ['a key as its base URL', ['add', 'main', '--for', secret], {}, 2, /not a base URL/],
    ['no action', [], {}, 2, /add, list, remove, unlock/],
    ['a key that is not there', ['remove', 'other'], {}, 1, /no key named other/],
    ['nothing to unlock', ['unlock'], {}, 1, /nothing runs on/],
  ] as const)('[S9] ends with %s in a clear text, and without showing a key', async (_what, args, env, code, text) => {
    const said = await exodesk([...args], secret, env)
    expect(said.code).toBe(code)
    expect(said.stderr).toMatch(text)
    expect(said.stdout + said.stderr).not.toContain('canary')
  })

  it('[S9] says that a passphrase is wrong, and leaves the vault as it was', async () => {
    await exodesk(['add', 'main', '--for', home], secret, withFile())
    const before = readFileSync(join(data, 'credentials.json'))
    writeFileSync(join(dir, 'passphrase'), 'another one')
    const said = await exodesk(['add', 'more', '--for', home], secret, withFile())
    expect(said.code).not.toBe(0)
    expect(said.stderr).toContain('wrong passphrase')
    expect(readFileSync(join(data, 'credentials.json'))).toEqual(before)
  })

  const atLeisure = { timeout: 240_000 }
  describe.skipIf(noTerminal)('at a terminal', atLeisure, () => {
    it('asks without showing what is typed, also what is taken back', async () => {
      const added = await atTerminal(['add', 'main', '--for', home], [passphrase, passphrase, `x\u007f${secret}`])
      expect(added).toMatchObject({ code: 0, screen: expect.stringContaining('is sealed') })
      const wrong = await atTerminal(['add', 'main', '--for', home], ['another one', secret])
      expect(wrong.screen).toContain('wrong passphrase')
      for (const { screen } of [added, wrong]) expect(screen).not.toMatch(/canary|sesame|another/)
    })

    it('takes a new passphrase only when it is typed twice', async () => {
      const differing = await atTerminal(['add', 'main', '--for', home], [passphrase, 'another one'])
      expect(differing.screen).toContain('the two passphrases differ')
      expect(differing.screen).not.toMatch(/sesame|another/)
      expect(existsSync(join(data, 'credentials.json'))).toBe(false)
    })
  })
})
