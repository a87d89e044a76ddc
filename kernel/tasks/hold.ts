import type { EventData } from '../wire/events.ts'
import type { Notice } from '../wire/operator.ts'

/** What the kernel itself keeps a task paused for. */
export interface Hold {
  cause: NonNullable<EventData<'task.paused'>['cause']>
  reason: string
}

/** Whether such a pause ends without the operator. Safe mode, a key, a world and a pause of the operator's do not. */
export function resumesByItself(cause: EventData<'task.paused'>['cause']): boolean {
  return cause === 'endpoint' || cause === 'budget'
}

const firstMs = 5_000
const mostMs = 300_000

/** How long to wait until the endpoint is tried again: 5 s, doubling to 5 min; from the start once a step was completed. */
export class Backoff {
  #tries = 0

  nextMs(): number {
    const ms = Math.min(mostMs, firstMs * 2 ** this.#tries)
    this.#tries += 1
    return ms
  }

  reset(): void {
    this.#tries = 0
  }
}

/** For every screen, as long as the task is held; null: safe mode and a budget have notices of their own. */
export function holdNotice(task: string, { cause, reason }: Hold): Notice | null {
  const id = holdNoticeId(task)
  switch (cause) {
    case 'safe-mode':
    case 'budget':
      return null
    case 'endpoint':
      return {
        ...{ id, severity: 'warning', task },
        text: `${task} is paused: ${reason}. It is tried again by itself, at the latest after 5 min`,
        fix: `Look after the endpoint and the network; to try at once: exodesk resume ${task}`,
      }
    case 'model':
      return {
        ...{ id, severity: 'error', task },
        text: `${task} is paused: ${reason}`,
        fix: `Mend the key, the name of the model or its price; then: exodesk resume ${task}`,
      }
    case 'world':
      return {
        ...{ id, severity: 'error', task },
        text: `${task} is paused: ${reason}`,
        fix: `exodesk resume ${task} starts the world again from its journal; exodesk stop ${task} gives up`,
      }
  }
}

export function holdNoticeId(task: string): string {
  return `task.held.${task}`
}

/** Waits that whatever happens cuts short; by timers, so that no step of the wall clock matters. */
export class Nap {
  #wake: () => void = () => {}

  /** Resolves after `ms`, or at the next `wake`; null: only then. */
  sleep(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  wake(): void {
    this.#wake()
  }
}
