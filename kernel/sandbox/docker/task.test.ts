import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskPlace } from '../sandbox.ts'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'
import { goldenHostConfig, plain } from './golden.ts'

afterAll(removeFolders)

describe.skipIf(socketPath === undefined)('a task in a container', () => {
  let under: Awaited<ReturnType<typeof dockerBoxes>>
  let place: TaskPlace

  async function begin(): Promise<void> {
    under = await dockerBoxes({ flattenLayers: 4 })
    const [root, policy] = [join(under.boxesDir, 'root'), join(under.boxesDir, 'policy')]
    for (const folder of [root, policy, ...['task', 'home', 'opt', 'tmp'].map((name) => join(root, name))])
      await mkdir(folder)
    await writeFile(join(root, 'task/a.txt'), 'first')
    place = { label: 'T-1', mounts: { root, policy } }
    await under.provider.open(place)
  }
  const run = async (script: string, timeoutMs = 45_000) => {
    const { mounts } = place
    const output = await under.provider.run({
      profile: 'task',
      label: 'T-1',
      mounts,
      argv: ['sh', '-c', script],
      timeoutMs,
    })
    return { ...output, out: output.stdout.toString('utf8'), err: output.stderr.toString('utf8') }
  }
  /** As the engine's owner would: past the provider, as root without its hardening of users. */
  const asRoot = async (script: string) => {
    const docker = ['-H', `unix://${socketPath}`, 'exec', '-u', '0:0', await containerId(), 'sh', '-c', script]
    return promisify(execFile)('docker', docker)
  }
  const containerId = async (): Promise<string> => {
    const found = await under.engine.listContainers({ all: true, filters: { name: ['task.T-1$'] } })
    const mine = await Promise.all(found.map(({ Id }) => under.engine.getContainer(Id).inspect()))
    const source = place.mounts.policy
    return mine.find(({ HostConfig }) => JSON.stringify(HostConfig).includes(source ?? ''))?.Id ?? 'none'
  }

  beforeAll(begin)
  afterAll(async () => {
    await under.provider.destroy(place)
    await under.provider.close()
  })

  it('begins with what the kernel laid, and keeps what commands change', async () => {
    expect((await run('cat a.txt; id -u; echo kept >b.txt; echo tool >/opt/tool; echo p >/policy/p.txt')).out).toBe(
      'first65534\n',
    )
    expect((await run('cat b.txt /opt/tool')).out).toBe('kept\ntool\n')
  })

  it('[X11] leaves nothing of an ended command: background, own group, cleaned environment', async () => {
    const beats = 'while :; do date +%N >beat; done'
    const left = await run(
      `(setsid sh -c '${beats}' >/dev/null 2>&1 &); (env -i setsid sh -c '${beats}' >/dev/null 2>&1 &); until [ -s beat ]; do :; done`,
    )
    expect(left.exitCode).toBe(0)
    expect(
      (await run('a=$(cat beat); sleep 0.3; [ "$a" = "$(cat beat)" ] && echo still; set -- /proc/[0-9]*; echo $#')).out,
    ).toBe('still\n3\n')
  })

  it('[X3] outlives a fork bomb, and a command that kills all it can', async () => {
    const bomb = await run('bomb() { bomb | bomb & }; bomb; sleep 1000', 3000)
    expect(bomb).toMatchObject({ timedOut: true, signal: 'SIGKILL' })
    expect((await run('kill -9 -1; kill -9 1; exit 0')).exitCode).not.toBe(null)
    expect((await run('cat a.txt')).out).toBe('first')
  })

  it('[C18] brings /task and an installed file back, leaves /policy alone, and keeps each name once', async () => {
    await asRoot('echo one >/usr/share/installed')
    const { provider } = under
    const snapshot = await provider.snapshot(place, 'one')
    expect(snapshot).toMatchObject({ name: 'one', sizeBytes: expect.any(Number) })
    await asRoot('echo two >/usr/share/installed')
    await run('echo two >a.txt; echo later >/policy/later.txt')
    await provider.snapshot(place, 'two')
    await provider.restore(place, 'one')
    expect((await run('cat a.txt /usr/share/installed /policy/later.txt')).out).toBe('firstone\nlater\n')
    await provider.restore(place, 'two')
    expect((await run('cat a.txt /usr/share/installed')).out).toBe('two\ntwo\n')
    expect((await provider.snapshots(place)).map(({ name }) => name)).toEqual(['one', 'two'])
    await provider.snapshot(place, 'one')
    await provider.forget(place, 'two')
    expect((await provider.snapshots(place)).map(({ name }) => name)).toEqual(['one'])
    await expect(provider.restore(place, 'two')).rejects.toMatchObject({ code: 'not-found' })
    await expect(provider.snapshot(place, 'a/"b')).rejects.toMatchObject({ code: 'invalid' })
  })

  it('[X16] [C13] hardens what it restores: a set-user shell, an entry point and a health check of an image do not help', async () => {
    await asRoot('cp /bin/dash /usr/bin/rootshell && chmod 4755 /usr/bin/rootshell')
    await under.provider.snapshot(place, 'planted')
    // What an image can say of itself, said in the snapshot's place.
    const tag = await snapshotTag('planted')
    const container = await under.engine.createContainer({
      Image: tag,
      Entrypoint: ['/bin/sh', '-c', 'echo entered >/task/entered'],
      User: '0:0',
      Env: ['LD_PRELOAD=/task/evil.so'],
      Healthcheck: { Test: ['CMD', 'touch', '/task/healthy'] },
    })
    const [repo, name] = tag.split(':')
    await container.commit({ repo, tag: name })
    await container.remove()
    await under.provider.restore(place, 'planted')
    expect((await run('ls -l /usr/bin/rootshell | cut -c1-4; rootshell -p -c "id -u"; ls entered healthy')).out).toBe(
      '-rws\n65534\n',
    )
    const { HostConfig, Config } = await under.engine.getContainer(await containerId()).inspect()
    expect(plain(HostConfig, under.boxesDir)).toEqual(goldenHostConfig.task)
    expect(Config.User).toBe('65534:65534')
  })

  it('[C18] goes on past the layer limit: a chain of restored snapshots is made into one layer', async () => {
    const rounds = process.env.EXODESK_FULL === '1' ? 150 : 4
    for (let round = 0; round < rounds; round += 1) {
      await run(`echo ${round} >round.txt`)
      await under.provider.snapshot(place, 'chain')
      await under.provider.restore(place, 'chain')
      expect((await run('cat round.txt a.txt')).out).toBe(`${round}\ntwo\n`)
    }
    const image = await under.engine.getImage(await snapshotTag('chain')).inspect()
    expect(image.RootFS.Layers?.length).toBeLessThan(5)
    expect((await under.provider.snapshots(place)).map(({ name }) => name)).toContain('chain')
  }, 3_000_000)

  it('grades in a box on the state of a snapshot, with tests and a folder to write to added', async () => {
    const [tests, logs] = [join(under.boxesDir, 'tests'), join(under.boxesDir, 'logs')]
    for (const folder of [tests, logs]) await mkdir(folder)
    await under.provider.snapshot(place, '.final')
    const graded = await under.provider.run({
      profile: 'verifier',
      label: 'T-1.verifier',
      mounts: { tests, logs },
      state: { place, snapshot: '.final' },
      argv: ['sh', '-c', 'cat a.txt; echo 1 >/logs/verifier/reward.txt; ls /policy; echo changed >a.txt'],
      timeoutMs: 45_000,
    })
    expect(graded.stdout.toString()).toBe('two\n')
    expect((await run('cat a.txt')).out).toBe('two\n')
  })

  it('is taken up by a later kernel, with nothing of the earlier one running', async () => {
    const { mounts } = place
    const beats = 'while :; do date +%N >beat; done'
    await under.provider.start({ profile: 'task', label: 'T-1', mounts, argv: ['sh', '-c', beats] })
    const earlier = under
    under = { ...(await dockerBoxes({ boxesDir: earlier.boxesDir, flattenLayers: 4 })) }
    expect(await under.provider.reap()).toBe(1)
    await under.provider.open(place)
    expect((await run('cat a.txt; a=$(cat beat); sleep 0.3; [ "$a" = "$(cat beat)" ] && echo still')).out).toBe(
      'two\nstill\n',
    )
    await earlier.provider.close()
    await under.provider.open(place)
  })

  async function snapshotTag(name: string): Promise<string> {
    const images = await under.engine.listImages({ filters: { label: [`exodesk.snapshot=${name}`] } })
    const hash = (await under.engine.getContainer(await containerId()).inspect()).Config.Labels['exodesk.data']
    return (
      images.flatMap(({ RepoTags }) => RepoTags ?? []).find((tag) => tag.startsWith(`exodesk/state-${hash}:`)) ?? 'none'
    )
  }
})
