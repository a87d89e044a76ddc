import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Dockerode from 'dockerode'
import { systemClock } from '../../clock.ts'
import { contractLimits } from '../sandbox.contract.ts'
import { type DockerConfig, dockerProvider } from './provider.ts'

/** Of the engine that tests may use; it is not theirs to end. */
export const socketPath = process.env.EXODESK_TEST_DOCKER?.replace(/^unix:\/\//, '')
if (socketPath === undefined)
  process.stderr.write(
    'kernel/sandbox/docker: skipped, EXODESK_TEST_DOCKER names no engine (unix:///run/docker.sock)\n',
  )

const made: string[] = []

export async function removeFolders(): Promise<void> {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true })
}

async function boxesFolder(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'exodesk-docker-'))
  made.push(data)
  await chmod(data, 0o755)
  const boxesDir = join(data, 'boxes')
  await mkdir(boxesDir)
  return boxesDir
}

/** A provider on a data directory of its own. `engine` looks at what it made, past it. */
export async function dockerBoxes(config: Partial<DockerConfig> = {}) {
  const boxesDir = config.boxesDir ?? (await boxesFolder())
  const given = { socketPath: socketPath ?? '', nodePath: process.execPath, checkerMounts: [], limits: contractLimits }
  const provider = dockerProvider({ ...given, clock: systemClock, ...config, boxesDir })
  const engine = new Dockerode({ socketPath: config.socketPath ?? socketPath ?? '' })
  return { provider, boxesDir, engine, knowsOutOfMemory: true }
}
