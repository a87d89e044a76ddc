// Kill -9 in the middle of making, keeping or restoring the container of a task: a later kernel finds the whole of one state.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'

afterAll(removeFolders)

const victim = join(import.meta.dirname, '../../testing/docker-victim.ts')

describe.skipIf(socketPath === undefined)('the container of a task whose kernel is killed', () => {
  it.each([
    ['docker:open-made', 'open', 'first'],
    ['docker:open-filled', 'open', 'first'],
    ['docker:snapshot-committed', 'snapshot', 'old'],
    ['docker:snapshot-named', 'snapshot', 'new'],
    ['docker:restore-made', 'restore', 'new'],
    ['docker:restore-removed', 'restore', 'old'],
  ])(
    '[F3] at %s (%s) is the whole of one state, and nothing else of it is left',
    async (failpoint, operation, expected) => {
      const { provider, boxesDir, engine } = await dockerBoxes()
      const [root, policy] = [join(boxesDir, 'root'), join(boxesDir, 'policy')]
      for (const folder of [root, policy, ...['task', 'home', 'opt', 'tmp'].map((name) => join(root, name))])
        await mkdir(folder)
      for (const file of ['a', 'b']) await writeFile(join(root, 'task', file), 'first')
      const place = { label: 'T-1', mounts: { root, policy } }
      const run = async (script: string, boxes = provider) => {
        const { label, mounts } = place
        const argv = ['sh', '-c', script]
        return (await boxes.run({ profile: 'task', label, mounts, argv, timeoutMs: 45_000 })).stdout.toString('utf8')
      }
      if (operation !== 'open') {
        await provider.open(place)
        await run('printf old >a; printf old >b')
        await provider.snapshot(place, 'one')
        await run('printf new >a; printf new >b')
      }
      await provider.close()

      const died = spawnSync(process.execPath, ['--no-warnings', victim, socketPath ?? '', boxesDir, operation], {
        env: { ...process.env, EXODESK_FAILPOINT: failpoint },
        encoding: 'utf8',
      })
      expect([died.signal, died.stderr]).toEqual(['SIGKILL', ''])

      const later = (await dockerBoxes({ boxesDir })).provider
      try {
        await later.open(place)
        if (operation === 'snapshot') {
          expect((await later.snapshots(place)).map(({ name }) => name)).toEqual(['one'])
          await later.restore(place, 'one')
        }
        expect(await run('cat a; echo; cat b', later)).toBe(`${expected}\n${expected}`)
        // The first command fenced what the killed one had left.
        const mine = ({ Mounts }: { Mounts: { Source?: string }[] }) => Mounts.some(({ Source }) => Source === policy)
        expect((await engine.listContainers({ all: true })).filter(mine)).toHaveLength(1)
        // It goes on: it is kept and brought back as before.
        await run('printf next >a', later)
        await later.snapshot(place, 'one')
        await run('printf gone >a', later)
        await later.restore(place, 'one')
        expect(await run('cat a', later)).toBe('next')
      } finally {
        await later.destroy(place)
        await later.close()
      }
      const ofThisFolder = `exodesk.data=${createHash('sha256').update(boxesDir).digest('hex').slice(0, 12)}`
      expect(await engine.listImages({ filters: { label: [ofThisFolder] } })).toEqual([])
    },
    300_000,
  )
})
