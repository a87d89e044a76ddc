import type { WireEvent } from '#wire'
import type { Tool } from '../tool.ts'

const ROWS_MAX = 50
const ROW_CHARS = 200

export const tool: Tool<{ kinds?: string[]; text?: string; before?: number; limit?: number }> = {
  name: 'history',
  description: 'List recorded events, newest first: by kinds (tool.finished, model.called, …) or by text they contain.',
  properties: {
    kinds: { type: 'array', items: { type: 'string' } },
    text: { type: 'string' },
    before: { type: 'integer', description: 'only events before this seq' },
    limit: { type: 'integer' },
  },
  required: [],
  async run(args, kernel) {
    const limit = Math.min(args.limit ?? 20, ROWS_MAX)
    if (args.text !== undefined) {
      const found = await kernel.call('history.search', { text: args.text, scope: 'agent', limit })
      return rows(found.events)
    }
    const page = await kernel.call('history.query', {
      scope: 'task',
      order: 'desc',
      limit,
      ...(args.kinds === undefined ? {} : { kinds: args.kinds }),
      ...(args.before === undefined ? {} : { before: args.before }),
    })
    return rows(page.events)
  },
}

function rows(events: WireEvent[]): string {
  if (events.length === 0) return 'no such events'
  return events
    .map((event) => `${event.seq} ${event.kind} ${JSON.stringify(event.data).slice(0, ROW_CHARS)}`)
    .join('\n')
}
