import { oc } from '@orpc/contract'
import { z } from 'zod'
import { agentName, count, sha256, taskId } from './ids.ts'

/** What leaves Exodesk as a file, and what comes in as one. */

export const exportFormats = ['markdown', 'html', 'atif', 'otel', 'fine-tuning', 'bundle'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** Known keys are taken out of every export; what else is found, a person may choose to keep. */
export const redactionRules = ['keys', 'lookalikes', 'home', 'email'] as const
export type RedactionRule = (typeof redactionRules)[number]
const optionalRules = redactionRules.filter((rule) => rule !== 'keys')

const scope = {
  format: z.enum(exportFormats),
  /** Of one task, or all tasks of one agent; of neither: everything. A bundle is always everything. */
  task: taskId.optional(),
  agent: agentName.optional(),
  /** Rules that are not to be applied. */
  keep: z.array(z.enum(optionalRules)).max(optionalRules.length).optional(),
}

const findingSchema = z.object({
  rule: z.enum(redactionRules),
  /** Places at which it was found. */
  count,
  /** The most frequent texts that it takes out; null: a key, which is not shown. */
  examples: z.array(z.object({ text: z.string().nullable(), count, seq: count })),
})
export type RedactionFinding = z.infer<typeof findingSchema>

export const exportsContract = {
  /** What an export would hold and what would be taken out of it. Writes nothing. */
  preview: oc.input(z.strictObject(scope)).output(
    z.object({
      events: count,
      findings: z.array(findingSchema),
      /** The path that `write` takes where none is given. */
      file: z.string(),
      /** Why it cannot be written; null: it can. */
      blocked: z.string().nullable(),
    }),
  ),
  /** Into a new file on the host's machine, absolute. */
  write: oc
    .input(
      z.strictObject({
        ...scope,
        file: z.string().min(1).max(4096).optional(),
        /** For `fine-tuning`: whoever worked on the task agrees that a model is trained on it. */
        consent: z.boolean().optional(),
      }),
    )
    .output(
      z.object({
        file: z.string(),
        sizeBytes: count,
        hash: sha256,
        events: count,
        redacted: z.array(z.object({ rule: z.enum(redactionRules), count })),
        /** Of `export.written`; null: this history takes no event. */
        seq: count.nullable(),
      }),
    ),
  /** A bundle into a new folder on the host's machine, which is a data directory to be read only. */
  import: oc
    .input(z.strictObject({ file: z.string().min(1).max(4096), folder: z.string().min(1).max(4096) }))
    .output(z.object({ folder: z.string(), events: count, head: sha256, exportedAt: z.number() })),
}
