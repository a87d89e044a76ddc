// No secret leaves the gateway: two keys, one sealed and one from the environment, are used in a whole day's work, and
// then looked for in everything that is left of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Capture, startCapture, writePack } from './canary-day.ts'
import { openScreen } from './desk.ts'
import { boxMissing, exodesk, root } from './exodesk.ts'
import { chromiumMissing, chromiumPath } from './headless.ts'
import { formsOf, searchBytes, searchPaths, type Trace } from './traces.ts'

const sealedKey = 'sk-canary/sealed+4f1d0c9b8a7e6d5c=='
const plainKey = 'sk-canary/environment+90a1b2c3d4e5f6=='
const passphrase = 'canary passphrase 7d1f'
const secrets = { sealedKey, plainKey, passphrase }

describe('[S1] the search for a secret', () => {
  let dir: string
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'exodesk-traces-'))
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const around = (bytes: Buffer) => Buffer.concat([Buffer.from('before {"a":"'), bytes, Buffer.from('"} after')])
  const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251))
  const packed: [string, (bytes: Buffer) => Buffer][] = [
    ['gzip', (bytes) => Buffer.concat([noise, gzipSync(bytes), noise])],
    ['zlib', (bytes) => Buffer.concat([noise, deflateSync(bytes), noise])],
    ['zstd', (bytes) => zstdCompressSync(bytes)],
    ['brotli', (bytes) => brotliCompressSync(bytes)],
    ['deflate', (bytes) => deflateRawSync(bytes)],
    ['gzip in gzip', (bytes) => gzipSync(Buffer.concat([noise, gzipSync(bytes)]))],
  ]

  it.each([...formsOf(sealedKey)])('finds it as %s', (form, bytes) => {
    const file = join(dir, 'planted')
    writeFileSync(file, around(bytes))
    expect(searchPaths([dir], sealedKey).traces).toContainEqual({ where: file, form })
    writeFileSync(file, around(bytes.subarray(1)))
    const rest = searchPaths([dir], sealedKey).traces.filter((trace) => trace.form === form)
    expect(rest).toEqual([])
  })

  it.each([0, 1, 2])('finds it in a base64 text, %i bytes behind a group', (before) => {
    const text = Buffer.concat([Buffer.alloc(before + 30, 'x'), Buffer.from(sealedKey), Buffer.from('tail')])
    expect(searchBytes(Buffer.from(text.toString('base64')), sealedKey, 'x')).not.toEqual([])
  })

  it.each(packed)('finds it packed by %s', (_name, pack) => {
    const plain = around(Buffer.from(sealedKey))
    expect(searchBytes(pack(plain), sealedKey, 'x').map(({ form }) => form)).toContain('plain')
    expect(searchBytes(pack(around(Buffer.from('nothing'))), sealedKey, 'x')).toEqual([])
  })

  it('finds it in a name, and scattered over the pages of a database', () => {
    const place = mkdtempSync(join(dir, 'more-'))
    const database = new DatabaseSync(join(place, 'a.db'))
    database.exec('create table t (value blob)')
    const long = gzipSync(
      Buffer.concat([Buffer.from(randomText(20_000)), Buffer.from(plainKey), Buffer.from(randomText(9_000))]),
    )
    database.prepare('insert into t values (?)').run(long)
    database.close()
    expect(searchPaths([place], plainKey).traces.some(({ where }) => where.includes('t.value > gzip'))).toBe(true)
    writeFileSync(join(place, 'passphrase-is-here'), '')
    expect(searchPaths([place], 'passphrase-is').traces).not.toEqual([])
  })
})

describe.skipIf(boxMissing ?? chromiumMissing())(
  '[S1] [C6] [C12] a day’s work with two keys',
  { timeout: 30 * 60_000 },
  () => {
    let dir: string
    let data: string
    const places = () => ['data', 'profile', 'said', 'out', 'cwd'].map((name) => join(dir, name))
    let host: ChildProcess
    let capture: Capture
    let simulator: ChildProcess
    let browser: BrowserContext
    /** What the processes of the app showed of themselves: environment, arguments, open files. */
    const seen: Seen[] = []
    let watching: NodeJS.Timeout

    const said = (name: string, text: string) => writeFileSync(join(dir, 'said', name), text)
    const command = async (name: string, args: string[], input?: string) => {
      const done = await run(args, input)
      said(`${name}.txt`, done.all)
      expect(done.code, done.all).toBe(0)
      return done.all
    }
    const run = async (args: string[], input = ''): Promise<{ code: number | null; all: string }> => {
      const child = spawn(process.execPath, [join(root, 'dist/cli.cjs'), ...args, '--data', data, '--json'], {
        cwd: join(dir, 'cwd'),
        env: { ...process.env, EXODESK_PASSPHRASE_FILE: join(dir, 'passphrase') },
        stdio: 'pipe',
      })
      let all = ''
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (all += text))
      child.stdin.end(input)
      const [code] = await once(child, 'close')
      return { code, all }
    }

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'exodesk-canary-'))
      data = join(dir, 'data')
      for (const place of places()) mkdirSync(place)
      writeFileSync(join(dir, 'passphrase'), passphrase)
      simulator = spawn(process.execPath, [join(root, 'dist/simulator.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] })
      const [line] = (await once(createInterface(simulator.stdout as NodeJS.ReadableStream), 'line')) as [string]
      capture = await startCapture(new URL(JSON.parse(line).url).origin)
      host = spawn(process.execPath, [join(root, 'dist/headless.cjs'), '--data', data], {
        cwd: join(dir, 'cwd'),
        env: { ...process.env, CANARY_KEY: plainKey, EXODESK_PASSPHRASE_FILE: join(dir, 'passphrase') },
        // An open file that it was started with, as a launcher may leave one.
        stdio: ['ignore', 'pipe', 'pipe', openSync(join(dir, 'passphrase'), 'r')],
      })
      for (const name of ['stdout', 'stderr'] as const)
        host[name]?.pipe(createWriteStream(join(dir, 'said', `host.${name}`)))
      const [url] = (await once(createInterface(host.stdout as NodeJS.ReadableStream), 'line')) as [string]
      watching = setInterval(() => watch(String(host.pid), seen), 50)
      browser = await chromium.launchPersistentContext(join(dir, 'profile'), {
        executablePath: chromiumPath,
        args: ['--disable-background-networking', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
      })
      await (browser.pages()[0] ?? (await browser.newPage())).goto(url)
    })
    afterAll(async () => {
      clearInterval(watching)
      await browser?.close()
      host?.kill('SIGKILL')
      simulator?.stdin?.end()
      capture?.server.closeAllConnections()
      capture?.server.close()
      rmSync(dir, { recursive: true, force: true })
    })

    it('sends each key to its provider, and to nobody else', async () => {
      await command('key-add', ['key', 'add', 'canary', '--for', capture.baseUrl], sealedKey)
      const pack = writePack(join(dir, 'pack'))
      const model = ['--model', 'sim-script', '--base-url', capture.baseUrl]
      const first = run(['run', pack, '--agent', 'a', ...model, '--key', 'canary'])
      await decide('a')
      said('run-1.txt', (await first).all)
      await command('rollback', ['rollback', 'r1', '--agent', 'a', '--reason', 'to see it go back'])
      await command('run-2', ['run', pack, '--agent', 'b', '--propose', 'off', ...model, '--key-env', 'CANARY_KEY'])
      // The one place where they belong: that they were used at all.
      expect(new Set(capture.authorizations)).toEqual(new Set([`Bearer ${sealedKey}`, `Bearer ${plainKey}`]))
      expect(capture.bodies.length).toBeGreaterThan(6)
      for (const secret of Object.values(secrets))
        expect(searchBytes(Buffer.from(capture.bodies.join('\n')), secret, 'the requests')).toEqual([])
      const used = (await exodesk(data, ['history', '--kind', 'credential.used'])).lines as unknown as Used[]
      expect(new Set(used.map(({ data: { credential } }) => credential))).toEqual(new Set(['canary', 'CANARY_KEY']))
    })

    it('shows none of it on any screen, in any answer of the command line, or in an export', async () => {
      const page = browser.pages()[0]
      for (const screen of ['Live', 'Review', 'History', 'Revisions', 'Home'] as const) {
        await openScreen(page as never, screen)
        said(`screen-${screen}.html`, (await page?.content()) ?? '')
      }
      for (const args of [
        ['key', 'list'],
        ['tasks'],
        ['proposals', '--all'],
        ['report'],
        ['history', '--limit', '1000'],
      ])
        await command(args.join('-'), args)
      // Whatever this version has of these.
      for (const args of [
        ['backup', join(dir, 'out/backup')],
        ['export', 'html', '--to', join(dir, 'out/run.html')],
        ['export', 'otel', '--to', join(dir, 'out/run.json')],
        ['export', 'bundle', '--to', join(dir, 'out/all.exodesk')],
        ['verify'],
      ])
        said(`${args.slice(0, 2).join('-').replaceAll('/', '-')}.txt`, (await run(args)).all)
    })

    it('gives it to no process that it starts: not in the environment, the arguments, or an open file', async () => {
      const names = [...new Set(seen.map(({ name }) => name))].join(' ')
      // The other half of the claim: they were looked at while they ran (one that reads a folder is gone too soon to be sure of).
      for (const box of ['executor-', 'T-1/', 'boot-', '.types/']) expect(names).toContain(box)
      const own = readFileSync(`/proc/${host.pid}/environ`)
      expect(searchBytes(own, plainKey, 'the host itself')).not.toEqual([])
      const traces = seen.flatMap(({ pid, name, shown }) =>
        Object.values(secrets).flatMap((secret) => searchBytes(shown, secret, `process ${pid} ${name}`)),
      )
      expect(traces).toEqual([])
      const closed = [join(dir, 'passphrase'), join(data, 'history.db')]
      expect(openFiles(String(host.pid))).toEqual(expect.arrayContaining(closed))
      const open = seen.flatMap(({ pid, name, files }) => files.map((file) => ({ pid, name, file })))
      expect(open.length).toBeGreaterThan(0)
      expect(open.filter(({ file }) => closed.some((path) => file.startsWith(path)))).toEqual([])
      // A core dump of the host would have no memory in it.
      if (process.platform === 'linux')
        expect(read(`/proc/${host.pid}/coredump_filter`).toString().trim()).toBe('00000000')
    })

    it('leaves nothing of it anywhere, while it runs, after kill -9, and after an orderly end', async () => {
      expect(everywhere()).toEqual([])
      host.kill('SIGKILL')
      await once(host, 'close')
      expect(everywhere()).toEqual([])
      await command('after', ['verify'])
      await browser.close()
      expect(everywhere()).toEqual([])
      // The search looked at what it should: the history, the vault, the profile and the host's own words.
      const { files } = searchPaths(places(), 'canary')
      expect(files).toBeGreaterThan(50)
      expect(searchPaths([join(data, 'credentials.json')], 'canary').traces).not.toEqual([])
    })

    function everywhere(): Trace[] {
      return Object.values(secrets).flatMap((secret) => searchPaths(places(), secret).traces)
    }

    /** Approves the first proposal of this agent, once it is ready. */
    async function decide(agent: string): Promise<void> {
      await expect
        .poll(async () => (await run(['approve', 'P-1', '--agent', agent, '--reason', 'looks right'])).code, {
          interval: 2000,
        })
        .toBe(0)
    }
  },
)

interface Seen {
  pid: string
  name: string
  shown: Buffer
  files: string[]
}

interface Used {
  data: { credential: string }
}

function randomText(length: number): string {
  let state = 12345
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return String.fromCharCode(33 + (state % 90))
  }).join('')
}

/** What every descendant of a process shows of itself now. */
function watch(host: string, seen: Seen[]): void {
  const parents = new Map<string, string>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(read(`/proc/${pid}/stat`).toString())?.[1]
    if (parent !== undefined) parents.set(pid, parent)
  }
  const descends = (pid: string): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === host || descends(parent))
  }
  for (const pid of parents.keys()) {
    if (!descends(pid)) continue
    const command = read(`/proc/${pid}/cmdline`)
    // Forked, and not yet what it is to become: still the host itself, by another number.
    if (command.equals(read(`/proc/${host}/cmdline`))) continue
    seen.push({
      pid,
      name: command.toString().split('\0')[0] ?? '',
      shown: Buffer.concat([command, read(`/proc/${pid}/environ`)]),
      files: openFiles(pid),
    })
  }
}

function openFiles(pid: string): string[] {
  return list(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      // Closed meanwhile.
      return ''
    }
  })
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    // It has ended meanwhile.
    return Buffer.alloc(0)
  }
}
