import type { Artifacts } from '../artifacts/artifacts.ts'
import type { History } from '../history/history.ts'
import type { TaskMemory } from './running.ts'

const memoryPrefix = 'memory/'
/** Beyond these, newest first by name, what is kept is counted as the messages that it stands in. */
const artifactsRead = 32
/** A shorter text may stand anywhere by chance. */
const shortest = 24

/**
 * What an agent keeps for itself, as texts that a request may carry: its last summary of the task, and its `memory/`
 * artifacts. Read again after a change of either.
 */
export function keptTexts(
  parts: { history: History; artifacts: Artifacts },
  agent: string,
  task: string,
): TaskMemory['kept'] {
  let known: Promise<readonly string[]> | null = null
  return {
    texts() {
      if (known !== null) return known
      const reading = read(parts, agent, task)
      known = reading
      // What could not be read is asked for again.
      reading.catch(() => {
        if (known === reading) known = null
      })
      return reading
    },
    changed() {
      known = null
    },
  }
}

async function read(
  { history, artifacts }: { history: History; artifacts: Artifacts },
  agent: string,
  task: string,
): Promise<readonly string[]> {
  const [{ events }, memories] = await Promise.all([
    history.read({ agent }, { kinds: ['message.appended'], task, order: 'desc', limit: 50 }),
    artifacts.list(agent, memoryPrefix),
  ])
  const summaries = events.flatMap(({ kind, data }) =>
    kind === 'message.appended' && data.role === 'summary' ? [data.text] : [],
  )
  const values = await Promise.all(
    memories.slice(0, artifactsRead).map(async ({ name }) => (await artifacts.get(agent, name)).text),
  )
  return [...summaries.slice(0, 1), ...values].filter((text) => text.trim().length >= shortest)
}
