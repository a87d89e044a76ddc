import type { Notices } from '../notices.ts'
import { ensureBallast, freeBytes } from '../store/ballast.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { History } from './history.ts'

/** Below this much free space a warning stands, bytes; work goes on again once there is so much. */
const lowBytes = 512 * 1024 * 1024
const enoughBytes = 64 * 1024 * 1024
const lookEveryMs = 5_000
/** Why tasks are paused; one that is found so at a start goes on when there is space. */
export const diskFullReason = 'the disk is full; it goes on by itself when there is space'

const active = ['starting', 'running', 'waiting']

export interface DiskWatch {
  /** At start, once tasks go on: those that an earlier start paused for the disk. */
  resume(): Promise<void>
  close(): void
}

/** Watches the disk of the data directory: warns in time, pauses what runs when it is full, and lets it go on afterwards. */
export function watchDisk(parts: {
  dataDir: string
  history: Pick<History, 'onFault'>
  notices: Notices
  tasks: Pick<Tasks, 'states' | 'list' | 'pause' | 'resume'>
  /** For tests: another measure of what is free, bytes, and how often it is taken. */
  free?: () => number
  everyMs?: number
}): DiskWatch {
  const { dataDir, notices, tasks, free = () => freeBytes(dataDir) } = parts
  let isFull = false
  let isLooking = false

  const stopListening = parts.history.onFault(({ fault }) => {
    if (fault !== 'disk-full' || isFull) return
    isFull = true
    const text = `The disk of ${dataDir} is full. Tasks are paused; nothing that was recorded is lost`
    notices.clear('disk.low')
    notices.raise({
      id: 'disk.full',
      severity: 'error',
      text,
      fix: 'Free some space: work goes on by itself',
      task: null,
    })
    void pauseAll()
  })

  async function pauseAll(): Promise<void> {
    const running = tasks.states().filter(({ state }) => active.includes(state))
    // One that ended meanwhile, or whose pause finds no room either: it stands still all the same.
    await Promise.allSettled(running.map(({ task }) => tasks.pause(task, 'kernel', diskFullReason)))
  }

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    try {
      const bytes = free()
      if (isFull && bytes >= enoughBytes) {
        ensureBallast(dataDir)
        isFull = false
        notices.clear('disk.full')
        await resumePaused()
      }
      if (!isFull) {
        ensureBallast(dataDir)
        if (bytes < lowBytes) warn(bytes)
        else notices.clear('disk.low')
      }
    } catch {
      // A disk that cannot even be asked shows at the next write.
    } finally {
      isLooking = false
    }
  }

  function warn(bytes: number): void {
    const text = `The disk of ${dataDir} has only ${Math.round(bytes / 1_048_576 / 16) * 16} MB left`
    const fix = 'Free some space: when it is full, tasks are paused'
    notices.raise({ id: 'disk.low', severity: 'warning', text, fix, task: null })
  }

  /** A task that could not even be paused in good order was left, and says why. */
  async function resumePaused(): Promise<void> {
    const all = await tasks.list()
    const held = all.filter(
      ({ state, reason }) =>
        (state === 'paused' && reason === diskFullReason) ||
        (state === 'interrupted' && reason?.includes('the disk is full') === true),
    )
    await Promise.allSettled(held.map(({ task }) => tasks.resume(task)))
  }

  const timer = setInterval(() => void look(), parts.everyMs ?? lookEveryMs).unref()
  void look()
  return {
    async resume() {
      if (!isFull && free() >= enoughBytes) await resumePaused()
    },
    close() {
      stopListening()
      clearInterval(timer)
    },
  }
}
