import { oc } from '@orpc/contract'
import { z } from 'zod'
import { eventKinds } from './events.ts'
import { count, done, sha256, taskId } from './ids.ts'

/** Events as an operator sees and marks them. */

export const eventSchema = z.object({
  seq: count,
  at: z.number(),
  agent: z.string().nullable(),
  task: z.string().nullable(),
  run: z.enum(['task', 'check', 'trial', 'reflection']).nullable(),
  generation: count.nullable(),
  turn: count.nullable(),
  step: count.nullable(),
  actor: z.enum(['operator', 'executor', 'kernel']),
  revision: z.string().nullable(),
  kind: z.enum(eventKinds),
  data: z.record(z.string(), z.json()),
})
export type EventRow = z.infer<typeof eventSchema>

/** In the language of operator-query.ts. What cannot be understood is refused as `invalid`, with `problems` and their places. */
const query = z.string().max(1000)
const facet = z.array(z.tuple([z.string(), count]))

const facetsSchema = z.object({
  count,
  /** There are more: everything here is of the newest `count`. */
  isCut: z.boolean(),
  kinds: facet,
  tasks: facet,
  agents: facet,
  tools: facet,
  actors: facet,
  failed: count,
})
export type EventFacets = z.infer<typeof facetsSchema>

export const labelName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'a label has small letters, digits and dashes, at most 32')

const marksSchema = z.object({
  /** The event that they are about. */
  seq: count,
  labels: z.array(z.string()),
  notes: z.array(z.object({ seq: count, at: z.number(), text: z.string() })),
})
export type EventMarks = z.infer<typeof marksSchema>

const pastSchema = z.object({
  seq: count,
  agent: z.string().nullable(),
  task: taskId.nullable(),
  /** What the agent ran then; null: nothing yet, or no agent's event. */
  active: z.object({ activation: count, revision: sha256, seq: count }).nullable(),
  /** Every artifact that it kept then, in the version of then. */
  artifacts: z.array(z.object({ name: z.string(), version: count, hash: sha256, sizeBytes: count })),
  /** The last snapshot of the task's sandbox up to then. */
  snapshot: z.object({ name: z.string(), seq: count, at: z.number(), hasWorld: z.boolean() }).nullable(),
})
export type Past = z.infer<typeof pastSchema>

export const eventsExtras = {
  /** Newest first. */
  find: oc
    .input(z.strictObject({ query, before: count.optional(), limit: z.number().int().min(1).max(1000).optional() }))
    .output(z.object({ events: z.array(eventSchema), next: count.nullable() })),
  /** What `find` finds, counted. */
  facets: oc.input(z.strictObject({ query })).output(facetsSchema),
  /** What an agent had and was at an event: what a fork from it would stand on. */
  past: oc.input(z.strictObject({ seq: count.min(1) })).output(pastSchema),
  /** Every event that has a note or a label of the operator's. */
  marks: oc.output(z.array(marksSchema)),
  note: oc.input(z.strictObject({ seq: count.min(1), text: z.string().trim().min(1).max(4000) })).output(done),
  label: oc.input(z.strictObject({ seq: count.min(1), label: labelName, isSet: z.boolean() })).output(done),
}
