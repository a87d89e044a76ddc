import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createNotices } from '../notices.ts'
import { ensureBallast, freeBytes } from '../store/ballast.ts'
import { diskFullReason, watchDisk } from './disk.ts'
import { openTestHistory } from './fixture.ts'
import { verifyDataDir } from './verify-only.ts'

const note = (text: string) => ({ kind: 'note.added', data: { text }, actor: 'executor', agent: 'a' }) as const

/** A disk of 48 MB of its own, or why there is none here. */
function smallDisk(): { folder: string; remove: () => void } | string {
  const folder = mkdtempSync(join(tmpdir(), 'exodesk-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    rmSync(folder, { recursive: true })
    return `no small disk can be mounted here (${(error as Error).message.split('\n')[0]})`
  }
  return {
    folder,
    remove() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Writes until nothing fits any more. */
function fillUp(folder: string): string {
  const file = join(folder, 'filler')
  const fd = openSync(file, 'w')
  for (let size = 1024 * 1024; size >= 512; ) {
    try {
      writeSync(fd, Buffer.alloc(size, 1))
    } catch {
      size /= 2
    }
  }
  closeSync(fd)
  return file
}

/** Tasks as the watch sees them; what it does to them is kept. */
function tasksOf(names: string[]) {
  const state = new Map(names.map((task) => [task, { task, state: 'running', reason: null as string | null }]))
  const done: string[] = []
  return {
    done,
    tasks: {
      states: () => [...state.values()] as never,
      list: async () => [...state.values()] as never,
      async pause(task: string, by: string, reason: string) {
        done.push(`pause ${task} ${by}`)
        state.set(task, { task, state: 'paused', reason })
        return { seq: 1 }
      },
      async resume(task: string) {
        done.push(`resume ${task}`)
        state.set(task, { task, state: 'running', reason: null })
        return { seq: 1 }
      },
    },
  }
}

const disk = smallDisk()
const why = typeof disk === 'string' ? disk : null
if (why !== null) console.info(`skipped: ${why}`)

describe.skipIf(why !== null)('a full disk', () => {
  it('[F6] refuses what does not fit, whole; what was set aside lets it be recorded; work goes on when there is space', async () => {
    const { folder, remove } = disk as Exclude<typeof disk, string>
    try {
      ensureBallast(folder)
      const test = await openTestHistory({ dataDir: folder })
      const notices = createNotices()
      const { tasks, done } = tasksOf(['T-1', 'T-2'])
      const faults: string[] = []
      test.history.onFault(({ fault, isWritten }) => faults.push(`${fault} ${isWritten}`))
      const watch = watchDisk({ dataDir: folder, history: test.history, notices, tasks, everyMs: 20 })
      await until(() => notices.list().some(({ id }) => id === 'disk.low'))
      await test.history.append([note('positive control')])
      const filler = fillUp(folder)
      let acknowledged = 0
      let refused: unknown = null
      // The ballast takes the first ones that no longer fit; after it nothing is.
      for (let n = 0; n < 200 && refused === null; n += 1) {
        await test.history.append([note(`${n} ${'x'.repeat(200_000)}`)]).then(
          () => {
            acknowledged += 1
          },
          (error: unknown) => {
            refused = error
          },
        )
      }
      expect(faults[0]).toBe('disk-full true')
      expect(acknowledged).toBeGreaterThan(0)
      expect(refused).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/nothing was added.*disk is full/),
      })
      await expect(test.history.putBlob('y'.repeat(3_000_000))).rejects.toMatchObject({ code: 'unavailable' })
      expect(notices.list().map(({ id }) => id)).toContain('disk.full')
      expect(done).toEqual(['pause T-1 kernel', 'pause T-2 kernel'])
      // Reading goes on, and so does a verification by another process.
      const before = test.history.head()?.seq ?? 0
      expect((await test.history.read({ agent: null }, { order: 'desc', limit: 1 })).events[0]?.seq).toBe(before)
      expect(await verifyDataDir({ dataDir: folder, version: 'test' })).toMatchObject({ ok: true, events: before })

      rmSync(filler)
      const [after] = await test.history.append([note('again')])
      expect(after?.seq).toBe(before + 1)
      watch.close()
      await test.reopen()
      expect(test.history.problem).toBeNull()
      expect(await test.history.verify()).toMatchObject({ ok: true, events: before + 1 })
      expect(freeBytes(folder)).toBeGreaterThan(0)
      await test.history.close()
    } finally {
      remove()
    }
  })
})

describe('the watch over a disk', () => {
  it('[F6] lets tasks that it paused go on by themselves once there is space, and no others', async () => {
    const test = await openTestHistory()
    const notices = createNotices()
    const { tasks, done } = tasksOf(['T-1'])
    let free = 10_000_000
    let full: Parameters<typeof test.history.onFault>[0] = () => {}
    const history = {
      onFault(listener: typeof full) {
        full = listener
        return () => {}
      },
    }
    const watch = watchDisk({ dataDir: test.dataDir, history, notices, tasks, free: () => free, everyMs: 5 })
    full({ fault: 'disk-full', message: '', isWritten: true })
    await until(() => done.length === 1)
    await until(() => notices.list().some(({ id }) => id === 'disk.full'))
    expect(done).toEqual(['pause T-1 kernel'])
    expect((await tasks.list()) as unknown).toMatchObject([{ reason: diskFullReason }])
    free = 100_000_000
    await until(() => done.length === 2)
    expect(done).toEqual(['pause T-1 kernel', 'resume T-1'])
    await until(() => notices.list().some(({ id }) => id === 'disk.low'))
    free = 10_000_000_000
    await until(() => notices.list().length === 0)
    watch.close()
    await test.close()
  })
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
