import { removeContainer } from './container-box.ts'
import type { Engine } from './engine.ts'

const retryMs = 2000

/**
 * Containers, by name, that may still run though the kernel has given them up: the engine went away, or did not answer in
 * time. They are killed as soon as it answers again, and before anything new is started.
 */
export interface Lost {
  add(name: string): void
  /** @throws KernelError `unavailable` while the engine does not answer. */
  fence(): Promise<void>
  close(): void
}

export function createLost(engine: Engine): Lost {
  const names = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function fence(): Promise<void> {
    for (const name of names) {
      await removeContainer(engine, engine.docker.getContainer(name))
      names.delete(name)
    }
  }

  function tryAgain(): void {
    if (isClosed || timer !== undefined || names.size === 0) return
    timer = setTimeout(() => {
      timer = undefined
      void fence().then(tryAgain, tryAgain)
    }, retryMs)
    timer.unref()
  }

  return {
    add(name) {
      names.add(name)
      tryAgain()
    },
    fence,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
