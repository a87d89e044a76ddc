import { draft, type EventData } from '../../wire/events.ts'
import type { InboundCall } from '../channel.ts'
import type { Running } from '../running.ts'
import { headOf } from '../text.ts'

const whatBytes = 2048

export type Executed = EventData<'sandbox.executed'>

/** Does one operation and records it under the tool call that it belongs to, however it ends. */
export async function recorded<T>(
  running: Running,
  call: InboundCall,
  op: Executed['op'],
  what: string,
  operation: (call: string | null) => Promise<T>,
  facts: (result: T) => Partial<Executed>,
): Promise<T> {
  const { clock, history } = running.parts
  const owner = running.memory.calls.ownerOf(what)
  call.what = `${owner?.name ?? op}: ${headOf(what, 200)}`
  const header = running.place('kernel')
  const from = clock.monotonic()
  let found: Partial<Executed> = {}
  try {
    const result = await operation(owner?.call ?? null)
    found = facts(result)
    return result
  } finally {
    running.memory.calls.used(owner?.call ?? null, from)
    const event: Executed = {
      op,
      what: headOf(what, whatBytes),
      call: owner?.call ?? null,
      exitCode: null,
      timedOut: false,
      bytes: 0,
      durationMs: clock.monotonic() - from,
      ...found,
    }
    await history.append([draft('sandbox.executed', event, header)])
  }
}
