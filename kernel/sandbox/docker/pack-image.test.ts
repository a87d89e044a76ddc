import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'

afterAll(removeFolders)

describe.skipIf(socketPath === undefined)("a pack's image", () => {
  it('is what its task begins with; one that cannot be had, or that keeps volumes, is refused', async () => {
    const { provider, boxesDir, engine } = await dockerBoxes()
    const policy = join(boxesDir, 'policy')
    const root = join(boxesDir, 'root')
    for (const folder of [policy, root]) await mkdir(folder)
    const make = async (tag: string, Volumes?: Record<string, object>) => {
      const options = { Image: 'exodesk/base:local', Entrypoint: ['true'], NetworkDisabled: true }
      const container = await engine.createContainer({
        ...options,
        Env: ['FROM_IMAGE=yes'],
        ...(Volumes && { Volumes }),
      })
      await container.commit({ repo: 'exodesk/test', tag })
      await container.remove({ v: true })
      return `exodesk/test:${tag}`
    }
    const names = [await make(`plain-${process.pid}`), await make(`volumes-${process.pid}`, { '/data': {} })] as const
    const mounts = { root, policy }
    await expect(provider.open({ label: 'a', mounts, image: names[1] })).rejects.toThrow(/\/data in volumes of its own/)
    const place = { label: 'b', mounts, image: names[0] }
    await provider.open(place)
    const output = await provider.run({ profile: 'task', label: 'b', mounts, argv: ['sh', '-c', 'echo $FROM_IMAGE'] })
    expect(output.stdout.toString()).toBe('yes\n')
    await provider.destroy(place)
    await provider.close()
    for (const name of names) await engine.getImage(name).remove({ force: true })
  })
})
