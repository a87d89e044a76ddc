import { z } from 'zod'
import { KernelError } from '../errors.ts'
import type { DraftRow } from '../store/messages.ts'
import { type EventDraft, type EventKind, eventSchemas } from '../wire/events.ts'

/** Largest payload, bytes of JSON. What is larger goes into a blob. */
const maxDataBytes = 256 * 1024

const name = z
  .string()
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'is empty, or has control characters or half a surrogate pair')
const count = z.number().int().nonnegative()

const headerSchema = z.object({
  agent: name.nullish(),
  task: name.nullish(),
  run: z.enum(['task', 'check', 'trial', 'reflection']).nullish(),
  generation: count.nullish(),
  turn: count.nullish(),
  step: count.nullish(),
  actor: z.enum(['operator', 'executor', 'kernel']),
  revision: name.nullish(),
})

/**
 * A draft as the writer takes it.
 * @throws KernelError `invalid` where it does not fit the schema of its kind, or is too large.
 */
export function rowOf(draft: EventDraft, at: number): DraftRow {
  const kind = draft.kind
  if (!Object.hasOwn(eventSchemas, kind))
    throw new KernelError('invalid', `there is no kind of event '${String(kind)}'`)
  const header = check(headerSchema, draft, kind)
  const data = JSON.stringify(check<unknown>(eventSchemas[kind], draft.data, kind))
  const size = Buffer.byteLength(data)
  if (size > maxDataBytes) {
    throw new KernelError(
      'invalid',
      `${kind} has ${size} bytes of data; at most ${maxDataBytes}: put the rest into a blob`,
    )
  }
  return [
    at,
    header.agent ?? null,
    header.task ?? null,
    header.run ?? null,
    header.generation ?? null,
    header.turn ?? null,
    header.step ?? null,
    header.actor,
    header.revision ?? null,
    kind,
    data,
  ]
}

function check<T>(schema: z.ZodType<T>, value: unknown, kind: EventKind): T {
  let result: z.ZodSafeParseResult<T>
  try {
    result = schema.safeParse(value)
  } catch (error) {
    // Nested too deep for the call stack.
    throw new KernelError('invalid', `${kind} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  if (result.success) return result.data
  throw new KernelError('invalid', `${kind}: ${z.prettifyError(result.error)}`)
}
