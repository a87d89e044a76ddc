import { KernelError } from '../errors.ts'
import type { Tasks } from '../tasks/tasks.ts'

/** By it those are known that were paused with all others: a task that had been paused by itself stays so. */
const reason = 'paused with all others'

export function createPausing(tasks: Tasks) {
  return {
    async pauseAll(): Promise<{ paused: string[] }> {
      // Of the paused ones, those that would go on by themselves.
      const running = tasks.states().filter(({ state }) => ['starting', 'running', 'waiting', 'paused'].includes(state))
      const paused = await Promise.all(
        running.map(({ task }) =>
          tasks.pause(task, 'operator', reason).then(
            () => task,
            (error: unknown) => {
              // One that has ended meanwhile needs no pause.
              if (error instanceof KernelError && error.code === 'conflict') return null
              throw error
            },
          ),
        ),
      )
      return { paused: paused.filter((task) => task !== null) }
    },

    async resumeAll(): Promise<{ resumed: string[]; left: { task: string; reason: string }[] }> {
      const mine = (await tasks.list()).filter(
        (one) => (one.state === 'paused' || one.state === 'pausing') && one.reason === reason,
      )
      const resumed: string[] = []
      const left: { task: string; reason: string }[] = []
      for (const { task } of mine)
        await tasks.resume(task).then(
          () => resumed.push(task),
          (error: Error) => left.push({ task, reason: error.message }),
        )
      return { resumed, left }
    },
  }
}
