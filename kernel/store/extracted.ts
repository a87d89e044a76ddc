import type { EventData } from '../wire/events.ts'

/** What columns of their own repeat of a payload, for reading by it: tool, then usage and cost. */
export function extracted(kind: string, data: unknown): (string | number | null)[] {
  if (kind === 'tool.called' || kind === 'tool.finished') {
    return [(data as EventData<'tool.called'>).name, null, null, null, null, null, null]
  }
  if (kind === 'model.called' || kind === 'model.attempted') {
    const { usage, costNanoUsd } = data as EventData<'model.attempted'>
    if (usage === null) return [null, null, null, null, null, null, costNanoUsd]
    return [null, usage.uncached, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning, costNanoUsd]
  }
  return [null, null, null, null, null, null, null]
}
