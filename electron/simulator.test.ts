import {
  closeSync,
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
import { afterEach, describe, expect, it } from 'vitest'
import { type SimulatorProcess, simulatorProcess } from './simulator.ts'

const entry = join(import.meta.dirname, '../simulator/main.ts')

/** By every thread of this process: a test's is not the first. */
function childrenOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '),
  )
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

describe('the simulator of a host', () => {
  const started: SimulatorProcess[] = []
  afterEach(() => {
    for (const simulator of started.splice(0)) simulator.stop()
  })
  function simulator(file = entry): SimulatorProcess {
    const one = simulatorProcess(process.execPath, file)
    started.push(one)
    return one
  }

  it('plays the models that are listed without starting it, and is started once', async () => {
    const one = simulator()
    const [first, second] = await Promise.all([one.start(), one.start()])
    expect(second).toBe(first)
    const { data } = (await (await fetch(`${first.origin}/v1/models`)).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id).sort()).toEqual(one.models.map(({ name }) => name).sort())
  })

  it.runIf(process.platform === 'linux')(
    '[C12] gets nothing of this process: no variable, and no file that is open here',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'exodesk-fd-'))
      const canary = join(folder, 'canary')
      writeFileSync(canary, '')
      const fd = openSync(canary, 'r')
      process.env.CANARY_OF_HOST = 'sk-canary-0123456789'
      try {
        const before = childrenOf(process.pid)
        await simulator().start()
        const [pid] = childrenOf(process.pid).filter((child) => !before.includes(child))
        expect(pid).toBeDefined()
        const opened = (of: string) => readdirSync(`/proc/${of}/fd`).map((n) => linkOf(`/proc/${of}/fd/${n}`))
        expect(opened('self')).toContain(canary)
        expect(opened(String(pid))).not.toContain(canary)
        expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toBe('')
      } finally {
        delete process.env.CANARY_OF_HOST
        closeSync(fd)
        rmSync(folder, { recursive: true })
      }
    },
  )

  it('says why it cannot be started', async () => {
    await expect(simulator(join(import.meta.dirname, 'none.ts')).start()).rejects.toThrow(
      /the simulator cannot be used: it ended/,
    )
  })
})
