import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { localProvider } from '../local.ts'
import { localSnapshots } from './local-snapshots.ts'
import { describeSnapshots } from './snapshots.contract.ts'
import { removeTree } from './walk.ts'

const hasBwrap = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'bwrap')))
if (!hasBwrap)
  process.stderr.write(
    'kernel/sandbox/snapshots: boxes skipped, bubblewrap is not installed (sudo apt-get install -y bubblewrap)\n',
  )

const made: string[] = []
afterAll(async () => {
  for (const folder of made) await removeTree(folder)
})

async function boxesFolder(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'exodesk-snapshots-'))
  made.push(data)
  await chmod(data, 0o755)
  await mkdir(join(data, 'boxes'))
  return join(data, 'boxes')
}

async function folders() {
  const boxesDir = await boxesFolder()
  const root = join(boxesDir, 'tasks', 'T-1', 'root')
  await mkdir(join(root, 'task'), { recursive: true })
  return { boxesDir, root, base: join(root, '..'), place: { label: 'T-1', mounts: { root } } }
}

async function objects(base: string): Promise<string[]> {
  const all = await readdir(join(base, 'snapshots', 'objects'), { recursive: true, withFileTypes: true })
  return all.flatMap((entry) => (entry.isFile() ? [entry.parentPath.slice(-2) + entry.name] : [])).sort()
}

describe.skipIf(!hasBwrap)('snapshots of local boxes', () => {
  describeSnapshots('by their provider', async () => {
    const boxesDir = await boxesFolder()
    const provider = localProvider({ boxesDir, nodePath: process.execPath, checkerMounts: [], clock: systemClock })
    return { provider, boxesDir }
  })
})

describe('snapshots of folders', () => {
  it('read and keep only what has changed, though its time was set back', async () => {
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    for (let n = 0; n < 300; n += 1) await writeFile(join(root, 'task', `f${n}`), `content ${n}`)
    await new Promise((resolve) => setTimeout(resolve, 150))
    const first = await store.take(place, 'one')
    expect([first.sizeBytes > 0, (await objects(base)).length]).toEqual([true, 300])
    const second = await store.take(place, 'two')
    expect([second.sizeBytes, (await objects(base)).length]).toEqual([0, 300])
    const time = new Date(0)
    await utimes(join(root, 'task', 'f1'), time, time)
    await store.take(place, 'two')
    await writeFile(join(root, 'task', 'f1'), 'CONTENT 1')
    await utimes(join(root, 'task', 'f1'), time, time)
    await store.take(place, 'three')
    expect((await objects(base)).length).toBe(301)
    await store.restore(place, 'two')
    expect(await readFile(join(root, 'task', 'f1'), 'utf8')).toBe('content 1')
    await store.restore(place, 'three')
    expect(await readFile(join(root, 'task', 'f1'), 'utf8')).toBe('CONTENT 1')
    await store.forget(place, 'three')
    expect((await objects(base)).length).toBe(300)
  })

  it('refuse what is larger than what is kept, before any of it is, and too many names', async () => {
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock, { count: 2, stateBytes: 1000, entries: 10 })
    await writeFile(join(root, 'task', 'large'), 'x'.repeat(1001))
    await expect(store.take(place, 'one')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/1000 bytes/),
    })
    await rm(join(root, 'task', 'large'))
    for (let n = 0; n < 10; n += 1) await writeFile(join(root, 'task', `f${n}`), '')
    await expect(store.take(place, 'one')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/10 entries/),
    })
    expect([await objects(base), await store.list(place)]).toEqual([[], []])
    await rm(join(root, 'task', 'f0'))
    await store.take(place, 'one')
    await store.take(place, 'two')
    await expect(store.take(place, 'three')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/at most 2/),
    })
    await store.take(place, 'two')
    await expect(store.take(place, '../x')).rejects.toMatchObject({ code: 'invalid' })
    const elsewhere = { label: 'x', mounts: { root: '/etc' } }
    await expect(store.take(elsewhere, 'one')).rejects.toMatchObject({ code: 'invalid' })
  })

  it('keep and remove trees that no path reaches, and folders that may not be read', async () => {
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    const script = "for (let n = 0; n < 60; n++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) }"
    expect(spawnSync(process.execPath, ['-e', script], { cwd: root }).status).toBe(0)
    await expect(store.take(place, 'deep')).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/3500 bytes/),
    })
    await removeTree(root)
    expect(await readdir(base)).toEqual(['snapshots'])
    await mkdir(join(root, 'task', 'closed'), { recursive: true })
    await writeFile(join(root, 'task', 'closed', 'file'), 'inside', { mode: 0o000 })
    await chmod(join(root, 'task', 'closed'), 0o000)
    await store.take(place, 'closed')
    await store.restore(place, 'closed')
    await chmod(join(root, 'task', 'closed'), 0o700)
    await chmod(join(root, 'task', 'closed', 'file'), 0o600)
    expect(await readFile(join(root, 'task', 'closed', 'file'), 'utf8')).toBe('inside')
  })

  it('keep a hole as a hole', async () => {
    const { boxesDir, root, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    await writeFile(join(root, 'task', 'sparse'), '')
    await truncate(join(root, 'task', 'sparse'), 200 * 1024 * 1024)
    expect((await store.take(place, 'one')).sizeBytes).toBeLessThan(1024 * 1024)
  })

  it('[C17] never read what a name leads to while it is swapped for a link under them', async () => {
    const rounds = process.env.EXODESK_FULL ? 10_000 : 300
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    const outside = join(boxesDir, '..', 'outside')
    await mkdir(outside)
    await writeFile(join(outside, 'file'), 'CANARY')
    const folder = join(root, 'task', 'folder')
    await mkdir(folder)
    await writeFile(join(folder, 'file'), 'inside')
    let isOver = false
    const swapper = (async () => {
      for (let _n = 0; !isOver; _n += 1) {
        await rename(folder, `${folder}.real`)
        await symlink(outside, folder)
        await unlink(folder)
        await rename(`${folder}.real`, folder)
        await rename(join(folder, 'file'), join(folder, 'real'))
        await symlink(join(outside, 'file'), join(folder, 'file'))
        await unlink(join(folder, 'file'))
        await rename(join(folder, 'real'), join(folder, 'file'))
      }
    })()
    let kept = 0
    for (let round = 0; round < rounds; round += 1) {
      // Content that is not known yet, so that the file is read each time.
      await store.take(place, 'one').then(
        () => (kept += 1),
        (error: { code: string }) => expect(['invalid', 'unavailable']).toContain(error.code),
      )
      await store.forget(place, 'one').catch(() => {})
    }
    isOver = true
    await swapper
    await store.take(place, 'one')
    const contents = await Promise.all(
      (await objects(base)).map((hash) =>
        readFile(join(base, 'snapshots', 'objects', hash.slice(0, 2), hash.slice(2)), 'utf8'),
      ),
    )
    // The control: what is in the tree is kept.
    expect(contents).toEqual(['inside'])
    expect(kept).toBeGreaterThan(0)
  }, 600_000)

  const victim = fileURLToPath(new URL('../../testing/snapshots-victim.ts', import.meta.url))
  const die = (base: string, operation: string, failpoint: string) =>
    spawnSync(process.execPath, ['--no-warnings', victim, base, operation], {
      env: { ...process.env, EXODESK_FAILPOINT: failpoint },
      encoding: 'utf8',
    })

  it.each([
    'snapshot:before-object',
    'snapshot:before-object:2',
    'snapshot:before-manifest',
    'snapshot:after-manifest',
  ])('[F3] [crash] are whole or not there after a kill at %s, and nothing is left lying', async (failpoint) => {
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    await writeFile(join(root, 'task', 'file'), 'old')
    await store.take(place, 'one')
    await writeFile(join(root, 'task', 'file'), 'new')
    await writeFile(join(root, 'task', 'other'), 'more')
    expect(die(boxesDir, 'take', failpoint)).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    await store.open(place)
    await rm(join(root, 'task', 'file'))
    await store.restore(place, 'one')
    const text = await readFile(join(root, 'task', 'file'), 'utf8')
    expect(text).toBe(failpoint === 'snapshot:after-manifest' ? 'new' : 'old')
    expect((await objects(base)).length).toBe(text === 'new' ? 2 : 1)
    expect(await readdir(join(base, 'snapshots', 'making'))).toEqual([])
  })

  it.each([
    ['restore:laid', 'new'],
    ['restore:decided', 'new'],
    ['restore:between', 'old'],
    ['restore:done', 'old'],
  ])('[F3] [crash] a restore killed at %s leaves the whole of one state', async (failpoint, expected) => {
    const { boxesDir, root, base, place } = await folders()
    const store = localSnapshots([boxesDir], systemClock)
    for (const n of [1, 2, 3]) await writeFile(join(root, 'task', `f${n}`), 'old')
    await store.take(place, 'one')
    for (const n of [1, 2, 3]) await writeFile(join(root, 'task', `f${n}`), 'new')
    expect(die(boxesDir, 'restore', failpoint)).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    await store.open(place)
    const seen = await Promise.all([1, 2, 3].map((n) => readFile(join(root, 'task', `f${n}`), 'utf8')))
    expect(seen).toEqual([expected, expected, expected])
    expect((await readdir(base)).sort()).toEqual(['root', 'snapshots'])
  })
})
