import { oc } from '@orpc/contract'
import { z } from 'zod'
import { agentName, count, sha256 } from './ids.ts'

/** What an operator does with history as a whole. Nothing here changes or drops an event. */

const verifySchema = z.object({
  ok: z.boolean(),
  events: count,
  head: z.string().nullable(),
  firstBadSeq: count.nullable(),
  problem: z.string().nullable(),
  /** Whether the log itself is at fault, some blob, or what is derived from the log. */
  of: z.enum(['log', 'blob', 'derived']).nullable(),
  /** What could not be checked, and why. */
  notes: z.array(z.string()),
})

export const historyContract = {
  verify: oc.output(verifySchema),
  /** Into a new folder on the host's machine, absolute: a data directory of its own, verified. */
  backup: oc
    .input(z.strictObject({ folder: z.string().min(1).max(4096) }))
    .output(z.object({ seq: count, sizeBytes: count, folder: z.string() })),
  /** Moves blobs that were given to agents before `before` (epoch ms) into a file beside the database. null: none are left. */
  archive: oc
    .input(z.strictObject({ before: z.number().int(), minBytes: count.optional() }))
    .output(z.object({ files: z.array(z.string()), blobs: count, sizeBytes: count })),
}

/** A new agent that remembers what `agent` did up to and including event `seq`, and runs what was active then. */
export const forkContract = oc
  .input(z.strictObject({ agent: agentName, seq: count.min(1), name: agentName }))
  .output(z.object({ agent: agentName, seq: count, activation: count, revision: sha256 }))
