// kill -9 of the host, twenty times in one task, at least five of them inside an activation. A witness follows the history
// as any script can, and puts on disk what it was told; all of it must be there afterwards.
import type { ChildProcess } from 'node:child_process'
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { boxMissing, dataDir, events, exodesk, type HistoryEvent, removeDataDirs, result, start } from './exodesk.ts'

const killsWanted = 20
const activationFailpoints = [
  'activation:authorised',
  'activation:started',
  'activation:before-commit',
  'activation:after-commit',
  'activation:started',
  'activation:after-commit',
]

interface Host {
  process: ChildProcess
  ended: Promise<NodeJS.Signals | null>
}

async function startHost(data: string, failpoint?: string): Promise<Host> {
  const child = start(['serve', '--data', data], {
    EXODESK_SIMULATOR_THINK_MS: '0',
    ...(failpoint === undefined ? {} : { EXODESK_FAILPOINT: failpoint }),
  })
  let words = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words += text
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  await new Promise<void>((resolve, reject) => {
    if (child.stdout !== null) createInterface(child.stdout).once('line', () => resolve())
    void ended.then((signal) => reject(new Error(`the host ended (${signal}) before it served: ${words}`)))
  })
  return { process: child, ended }
}

/** Follows a host from where it last was, until that host is gone. What it returns is on disk. */
class Witness {
  readonly seen = new Map<number, string>()
  readonly #file: number
  #waiting: { holds: (event: HistoryEvent) => boolean; resolve: () => void }[] = []

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  get last(): number {
    return Math.max(0, ...this.seen.keys())
  }

  attach(data: string): Promise<void> {
    const child = start([
      'history',
      '--follow',
      '--json',
      '--after',
      String(this.last),
      '--limit',
      '1000',
      '--data',
      data,
    ])
    if (child.stdout === null) throw new Error('the witness has no output')
    createInterface(child.stdout).on('line', (line) => {
      const event: HistoryEvent = JSON.parse(line)
      writeSync(this.#file, `${line}\n`)
      fsyncSync(this.#file)
      this.seen.set(event.seq, line)
      this.#waiting = this.#waiting.filter(({ holds, resolve }) => {
        if (!holds(event)) return true
        resolve()
        return false
      })
    })
    return new Promise((resolve) => child.once('close', () => resolve()))
  }

  until(holds: (event: HistoryEvent) => boolean): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ holds, resolve }))
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Executor processes of this data directory, each counted once however many wrappers it has. */
function executors(data: string): number {
  const found = new Map<number, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      if (!line.includes('/revision/main.ts') || !line.includes(join(data, 'boxes'))) continue
      const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
      found.set(Number(pid), Number(parent?.[1]))
    } catch {
      // It ended while we looked.
    }
  }
  return [...found.values()].filter((parent) => !found.has(parent)).length
}

interface Activation {
  activation: number
  revision: string
  state: string
}

async function activationsOf(data: string, agent: string): Promise<Activation[]> {
  const { lines } = await exodesk(data, ['revisions', '--agent', agent])
  return (lines as unknown as Activation[]).toSorted((a, b) => a.activation - b.activation)
}

function expectOneActive(rows: Activation[]): void {
  expect(rows.map(({ activation }) => activation)).toEqual(rows.map((_, index) => index + 1))
  expect(rows.filter(({ state }) => state === 'active' || state === 'probation')).toHaveLength(1)
}

describe.skipIf(boxMissing)('a host that is killed again and again', () => {
  afterAll(removeDataDirs)

  it('loses nothing that it acknowledged, and has one active revision and one executor', {
    timeout: 20 * 60_000,
  }, async () => {
    const data = dataDir()
    const witness = new Witness(join(data, '..', 'exodesk-witness.jsonl'))
    let host = await startHost(data)
    let kills = 0
    let inActivation = 0
    const submitted = start([
      'run',
      'tasks/hollowmere/skills',
      '--model',
      'sim-apprentice',
      '--approve',
      'all',
      '--seed',
      '5',
      '--data',
      data,
      '--json',
    ])
    submitted.once('error', () => {})
    let following = witness.attach(data)
    await witness.until((event) => event.kind === 'task.started')
    const agent = (await events(data, ['task.created']))[0]?.agent ?? ''

    const revive = async (failpoint?: string): Promise<void> => {
      await host.ended
      await following
      kills += 1
      host = await startHost(data, failpoint)
      expectOneActive(await activationsOf(data, agent))
      following = witness.attach(data)
    }
    // Seeded, so that a failure can be had again.
    let draw = 17
    const random = (most: number): number => {
      draw = (draw * 1103515245 + 12345) % 2147483648
      return 1 + (draw % most)
    }
    const killSoon = async (): Promise<void> => {
      let left = random(12)
      await witness.until(() => {
        left -= 1
        return left <= 0
      })
      host.process.kill('SIGKILL')
    }

    const isActivated = witness
      .until((event) => event.kind === 'revision.activated' && event.data.activation === 2)
      .then(() => true)
    const upTo = killsWanted - activationFailpoints.length
    while (kills < upTo - 2) {
      await killSoon()
      await revive()
    }
    await isActivated
    for (const failpoint of activationFailpoints) {
      host.process.kill('SIGKILL')
      await revive(failpoint)
      const before = await activationsOf(data, agent)
      const active = before.find(({ state }) => state === 'active' || state === 'probation')
      const target = before.findLast(({ revision }) => revision !== active?.revision)
      const rollback = exodesk(data, ['rollback', `r${target?.activation}`, '--agent', agent])
      expect(await host.ended).toBe('SIGKILL')
      inActivation += 1
      await rollback
      await revive()
    }
    expect(inActivation).toBeGreaterThanOrEqual(5)
    expect(kills).toBeGreaterThanOrEqual(killsWanted)

    // It goes on to its end, whichever revision is active.
    const isOver = (await exodesk(data, ['history', '--kind', 'task.finished'])).lines.length > 0
    if (!isOver) {
      await expect.poll(() => executors(data), { timeout: 60_000 }).toBe(1)
      await witness.until((event) => event.kind === 'task.finished')
    }
    const finished = await events(data, ['task.finished'])
    expect(finished.map((event) => event.data.outcome)).toEqual(['completed'])
    await expect.poll(() => executors(data), { timeout: 60_000 }).toBe(0)
    expectOneActive(await activationsOf(data, agent))

    expect(await result(data, ['verify'])).toMatchObject({ ok: true, firstBadSeq: null })
    const now = new Map<number, string>()
    for (let after = 0; ; ) {
      const { lines } = await exodesk(data, ['history', '--after', String(after), '--limit', '1000'])
      for (const line of lines as unknown as HistoryEvent[]) now.set(line.seq, JSON.stringify(line))
      if (lines.length < 1000) break
      after = Math.max(...now.keys())
    }
    for (const [seq, line] of witness.seen) expect(now.get(seq), `event ${seq}`).toBe(line)
    expect(witness.seen.size).toBeGreaterThan(100)
    const told = await events(data, ['kernel.recovered'])
    expect(told.length).toBeGreaterThanOrEqual(5)

    host.process.kill('SIGTERM')
    await host.ended
    witness.close()
  })
})
