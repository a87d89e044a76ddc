import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { systemClock } from '../../clock.ts'
import { contractLimits, describeSandbox } from '../sandbox.contract.ts'
import { type DockerConfig, dockerProvider } from './provider.ts'

const socketPath = process.env.EXODESK_TEST_DOCKER?.replace(/^unix:\/\//, '')
if (socketPath === undefined)
  process.stderr.write(
    'kernel/sandbox/docker: skipped, EXODESK_TEST_DOCKER names no engine (unix:///run/docker.sock)\n',
  )

const made: string[] = []
afterAll(async () => {
  for (const folder of made) await rm(folder, { recursive: true, force: true })
})

async function make(config: Partial<DockerConfig> = {}) {
  const data = await mkdtemp(join(tmpdir(), 'exodesk-docker-'))
  made.push(data)
  await chmod(data, 0o755)
  const boxesDir = join(data, 'boxes')
  await mkdir(boxesDir)
  const provider = dockerProvider({
    socketPath: socketPath ?? '',
    boxesDir,
    nodePath: process.execPath,
    checkerMounts: [],
    limits: contractLimits,
    clock: systemClock,
    ...config,
  })
  return { provider, boxesDir, knowsOutOfMemory: true }
}

describe.skipIf(socketPath === undefined)('docker boxes', () => {
  describeSandbox('by the engine of this machine', () => make())
})
