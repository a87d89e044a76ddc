import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import { draft, type EventDraft } from '../wire/events.ts'

/**
 * Closes what a kill left open in a task: tool calls without an end (their effect is unknown) and a turn without an end.
 * The order is that of a live interruption, so a policy rebuilds the same context in both cases.
 */
export async function closeOpenWork(
  history: History,
  agent: string,
  task: string,
): Promise<{ calls: number; turns: number }> {
  const turn = await history.latest({ agent }, 'turn.started', { task })
  if (turn === null) return { calls: 0, turns: 0 }
  const ended = await history.latest({ agent }, 'turn.ended', { task })
  const drafts: EventDraft[] = []
  const open = new Map<string, EventDraft>()
  let steps = 0
  let after: number | null = turn.seq
  while (after !== null) {
    const page = await history.read(
      { agent },
      { task, after, limit: 1000, kinds: ['tool.called', 'tool.finished', 'model.called'] },
    )
    for (const event of page.events) {
      if (event.kind === 'model.called') steps += 1
      if (event.kind === 'tool.finished') open.delete(event.data.call)
      if (event.kind === 'tool.called') {
        const { generation, turn, step, revision } = event
        open.set(
          event.data.call,
          draft(
            'tool.finished',
            {
              call: event.data.call,
              name: event.data.name,
              outcome: 'interrupted',
              output: 'interrupted: effect unknown',
              outputBytes: 27,
              durationMs: null,
            },
            { actor: 'kernel', agent, task, run: 'task', generation, turn, step, revision },
          ),
        )
      }
    }
    after = page.next
  }
  drafts.push(...open.values())
  const isTurnOpen = ended === null || ended.seq < turn.seq
  if (isTurnOpen) {
    drafts.push(
      draft(
        'turn.ended',
        { outcome: 'interrupted', reason: 'the kernel ended in the middle of it', steps },
        {
          actor: 'kernel',
          agent,
          task,
          run: 'task',
          generation: turn.generation,
          turn: turn.turn,
          revision: turn.revision,
        },
      ),
    )
  }
  if (drafts.length > 0) {
    const written = await history.append(drafts)
    if (written.length !== drafts.length)
      throw new KernelError('internal', 'the open work of an interrupted task was not closed')
  }
  return { calls: open.size, turns: isTurnOpen ? 1 : 0 }
}
