import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { allPids, firstArgument } from '../processes.ts'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'
import { noPrivateEngine, type PrivateEngine, privateEngine } from './private-engine.ts'

const why = socketPath === undefined ? 'EXODESK_TEST_DOCKER names no engine' : noPrivateEngine
if (why !== null) process.stderr.write(`kernel/sandbox/docker/engine-loss.test.ts: skipped, ${why}\n`)

afterAll(removeFolders)

/** Known again in the process list of this machine. */
const seconds = `31415${process.pid}`

describe.skipIf(why !== null)('an engine that goes away', () => {
  let engine: PrivateEngine
  let under: Awaited<ReturnType<typeof dockerBoxes>>

  beforeAll(async () => {
    engine = await privateEngine(socketPath ?? '')
    under = await dockerBoxes({ socketPath: engine.socketPath, deadlines: { short: 4000, long: 4000 } })
  }, 180_000)
  afterAll(async () => {
    await under?.provider.close()
    await engine?.close()
  }, 60_000)

  const beating = async (name: string) => {
    const revision = join(under.boxesDir, name)
    await mkdir(revision)
    const argv = ['sleep', seconds]
    return under.provider.start({ profile: 'executor', label: name, mounts: { revision }, argv })
  }
  const sleepers = () => allPids().filter((pid) => firstArgument(pid) === 'sleep' && isOurs(pid))

  it('[F12] killed: its boxes end for the kernel at once, and for good before anything new is started', async () => {
    const box = await beating('killed')
    await vi.waitFor(() => expect(sleepers()).toHaveLength(1), { timeout: 20_000 })
    engine.signal('SIGKILL')
    expect(await box.exited).toMatchObject({ exitCode: null, timedOut: false })
    await expect(under.provider.start(box.spec)).rejects.toMatchObject({ code: 'unavailable' })
    await engine.start()
    const next = await under.provider.start({ ...box.spec, label: 'next' })
    await vi.waitFor(() => expect(sleepers()).toHaveLength(1), { timeout: 20_000 })
    await next.kill()
    expect(sleepers()).toHaveLength(0)
  }, 120_000)

  it('[F13] stopped: every call ends at its deadline, and a cancelled box is ended when it goes on', async () => {
    const box = await beating('stopped')
    engine.signal('SIGSTOP')
    await expect(under.provider.start({ ...box.spec, label: 'second' })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/within 4 s/),
    })
    await box.kill()
    expect(await box.exited).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
    engine.signal('SIGCONT')
    await vi.waitFor(() => expect(sleepers()).toHaveLength(0), { timeout: 60_000 })
    expect((await under.provider.run({ ...box.spec, label: 'third', argv: ['true'] })).exitCode).toBe(0)
  }, 120_000)
})

/** Of the box's user, and with the one argument that this test gives. */
function isOurs(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(seconds)
  } catch {
    return false
  }
}
