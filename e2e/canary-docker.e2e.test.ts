// The same secrets, where the boxes are containers: what the engine keeps of them, and what their processes show.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Capture, startCapture, writePack } from './canary-day.ts'
import { root } from './exodesk.ts'
import { searchBytes, searchPaths } from './traces.ts'

const engine = process.env.EXODESK_TEST_DOCKER
const missing = engine === undefined ? 'EXODESK_TEST_DOCKER names no engine' : null
if (missing) console.warn(`skipped: canary in containers, ${missing}`)

const secret = 'sk-canary/container+7c6b5a4f3e2d1c=='

describe.skipIf(missing)('[S1] [C6] a day’s work in containers with a key', { timeout: 10 * 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'exodesk-canary-docker-'))
  const data = join(dir, 'data')
  let simulator: ChildProcess
  let capture: Capture
  /** By name: what the engine said of each container, and what its first process had as environment. */
  const inspected = new Map<string, Buffer>()

  beforeAll(async () => {
    mkdirSync(data)
    simulator = spawn(process.execPath, [join(root, 'dist/simulator.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface(simulator.stdout as NodeJS.ReadableStream), 'line')) as [string]
    capture = await startCapture(new URL(JSON.parse(line).url).origin)
  })
  afterAll(() => {
    simulator?.stdin?.end()
    capture?.server.closeAllConnections()
    capture?.server.close()
    rmSync(dir, { recursive: true, force: true })
  })

  it('is sent to its provider, and is nowhere in what the engine knows, in an image, or in a process of a container', async () => {
    const pack = writePack(join(dir, 'pack'))
    const before = new Set(docker('images', '-aq', '--no-trunc').split('\n'))
    const model = ['--model', 'sim-script', '--base-url', capture.baseUrl, '--key-env', 'CANARY_KEY', '--unattended']
    const args = ['run', pack, '--agent', 'a', '--approve', 'all', '--sandbox', 'docker', ...model]
    const host = spawn(process.execPath, [join(root, 'dist/cli.cjs'), ...args, '--data', data, '--json'], {
      env: { ...process.env, DOCKER_HOST: engine, CANARY_KEY: secret },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [host.stdout, host.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
    const ended = once(host, 'close')
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    while (!isOver) {
      look()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect((await ended)[0], said).toBe(0)
    expect(new Set(capture.authorizations)).toEqual(new Set([`Bearer ${secret}`]))
    const names = [...inspected.keys()].join(' ')
    for (const profile of ['task', 'executor', 'check']) expect(names).toContain(profile)
    const traces = [...inspected].flatMap(([name, shown]) => searchBytes(shown, secret, name))
    expect(traces).toEqual([])
    const images = docker('images', '-aq', '--no-trunc')
      .split('\n')
      .filter((image) => image !== '' && !before.has(image))
    for (const image of images) {
      const saved = join(dir, 'image')
      execFileSync('docker', ['-H', engine ?? '', 'save', '-o', saved, image])
      expect(searchPaths([saved], secret).traces).toEqual([])
      rmSync(saved)
    }
    expect(searchBytes(Buffer.from(said), secret, 'the command')).toEqual([])
    expect(searchPaths([data], secret).traces).toEqual([])
  })

  it('would have been found: the search reads what an engine says of a container, and the environment of its process', () => {
    const id = docker('run', '-d', '--network', 'none', '-e', `PLANTED=${secret}`, 'exodesk/base:local', 'sleep', '60')
    try {
      inspected.clear()
      look()
      const shown = Buffer.concat([...inspected.values()])
      expect(searchBytes(shown, secret, 'planted').length).toBeGreaterThan(0)
      expect(searchBytes(environmentOf(id), secret, 'planted').length).toBeGreaterThan(0)
    } finally {
      docker('rm', '-f', id)
    }
  })

  function look(): void {
    for (const id of docker('ps', '-aq', '--no-trunc')
      .split('\n')
      .filter((line) => line !== '')) {
      try {
        const text = docker('inspect', id)
        const [{ Name, Config }] = JSON.parse(text) as [{ Name: string; Config: { Labels: Record<string, string> } }]
        const name = `${Name} ${Config.Labels['exodesk.profile']}`
        const known = inspected.get(name) ?? Buffer.alloc(0)
        inspected.set(name, Buffer.concat([known.subarray(0, 1_000_000), Buffer.from(text), environmentOf(id)]))
      } catch {
        // It is gone by now.
      }
    }
  }
})

function docker(...args: string[]): string {
  return execFileSync('docker', ['-H', engine ?? '', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}

/** Of every process of the container, as the host sees them. */
function environmentOf(id: string): Buffer {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return Buffer.concat(
    pids.map((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(id)) return Buffer.alloc(0)
        const shown = ['environ', 'cmdline'].map((file) => `/proc/${pid}/${file}`).filter((path) => existsSync(path))
        return Buffer.concat(shown.map((path) => readFileSync(path)))
      } catch {
        // It has ended meanwhile.
        return Buffer.alloc(0)
      }
    }),
  )
}
