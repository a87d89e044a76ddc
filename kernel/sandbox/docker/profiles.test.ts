import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { profiles } from '../profiles.ts'
import type { Box, BoxMounts, BoxSpec, ProfileName } from '../sandbox.ts'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'
import { goldenHostConfig, plain } from './golden.ts'

afterAll(removeFolders)

describe.skipIf(socketPath === undefined)('every container of', () => {
  let under: Awaited<ReturnType<typeof dockerBoxes>>
  beforeEach(async () => {
    under = await dockerBoxes({ limits: {} })
  })
  afterEach(() => under.provider.close())

  const inspect = async (label: string) => {
    const [found] = await under.engine.listContainers({ all: true, filters: { label: [`exodesk.label=${label}`] } })
    return under.engine.getContainer(found?.Id ?? 'none').inspect()
  }

  it.each(['executor', 'boot', 'check', 'world', 'verifier', 'task'] as const)(
    '[C13] profile %s is its constant to the letter, whatever its caller says',
    async (name: ProfileName) => {
      const mounts: BoxMounts = {}
      const roles = name === 'task' ? (['policy'] as const) : profiles[name].places.map(({ role }) => role)
      for (const role of roles) {
        if (role === 'root') continue
        mounts[role] = join(under.boxesDir, role)
        await mkdir(join(under.boxesDir, role))
      }
      const label = `golden-${name}-${process.pid}`
      let box: Box | null = null
      if (name === 'task') await under.provider.open({ label, mounts })
      else {
        // What a caller may say reaches the command's own environment and nothing else.
        const env = { DOCKER_HOST: 'unix:///x', LD_PRELOAD: '/task/x.so' }
        box = await under.provider.start({ profile: name, label, mounts, env, argv: ['sleep', '100'], cwd: '/' })
      }
      const { HostConfig, Config, State } = await inspect(label)
      expect(plain(HostConfig, under.boxesDir)).toEqual(goldenHostConfig[name])
      expect(Config).toMatchObject({ User: '65534:65534', Hostname: 'exodesk', Tty: false, Volumes: null })
      expect(State.Running).toBe(true)
      await box?.kill()
      await under.provider.destroy({ label, mounts })
    },
  )

  it('[X12] a caller that writes options into labels, folders or commands is refused, or taken at its word', async () => {
    const good: BoxSpec = { profile: 'executor', label: '--privileged', mounts: {}, argv: ['echo', '--privileged'] }
    const bads: Partial<BoxSpec>[] = [
      { label: 'a b' },
      { cwd: '-v/:/h' },
      { mounts: { revision: '-v/:/h' } },
      { mounts: { revision: '/' } },
      { mounts: { revision: '/var/run/docker.sock' } },
      { mounts: { policy: under.boxesDir } },
      { env: { 'A=B --cap-add': 'ALL' } },
    ]
    for (const bad of bads) {
      await expect(under.provider.run({ ...good, ...bad })).rejects.toMatchObject({ code: 'invalid' })
    }
    expect((await under.provider.run(good)).stdout.toString()).toBe('--privileged\n')
  })

  it('[C14] [X14] no engine: says so, says what mends it, and runs nothing', async () => {
    const { provider } = await dockerBoxes({ socketPath: join(under.boxesDir, 'none.sock') })
    expect(await provider.report()).toMatchObject({
      available: false,
      engineAnswers: false,
      detail: 'no Docker engine',
    })
    await expect(provider.run({ profile: 'task', label: 'x', mounts: {}, argv: ['true'] })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await provider.killAll('x')).toBe(0)
    const { provider: bare } = await dockerBoxes({ image: 'exodesk/none:never' })
    expect(await bare.report()).toMatchObject({
      available: false,
      engineAnswers: true,
      reason: expect.stringMatching(/no image exodesk\/none:never/),
      fix: 'exodesk doctor --build-base-image',
    })
  })
})
