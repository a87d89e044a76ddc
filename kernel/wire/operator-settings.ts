import { oc } from '@orpc/contract'
import { z } from 'zod'
import { tokenUsageSchema } from './events.ts'
import { count, taskId } from './ids.ts'

/** How this desk looks and is worked; what an operator asks of the host itself. Nothing here changes an agent. */

/** A chord such as `Mod+Shift+x`, `j`, `escape`; `Mod` is Command on a Mac, Control elsewhere. */
const chord = z
  .string()
  .max(40)
  .regex(/^(Mod\+)?(Shift\+)?[^\s+]{1,20}$|^(Mod\+)?(Shift\+)?\+$/)
const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/)

export const notificationEvents = ['decision', 'failed', 'budget', 'regressed', 'finished'] as const

const savedFilters = z
  .array(z.strictObject({ name: z.string().trim().min(1).max(60), query: z.string().max(1000) }))
  .max(100)

export const preferencesSchema = z.strictObject({
  theme: z.enum(['system', 'light', 'dark']).default('system'),
  contrast: z.enum(['system', 'normal', 'more']).default('system'),
  /** `safe`: told apart with every kind of colour vision. */
  colours: z.enum(['standard', 'safe']).default('standard'),
  motion: z.enum(['system', 'reduced']).default('system'),
  density: z.enum(['compact', 'comfortable']).default('compact'),
  /** Off: keys without a modifier that print a character do nothing (WCAG 2.1.4). */
  bareKeys: z.boolean().default(true),
  /** By the id of a shortcut, where it is not the usual one. */
  keys: z.record(z.string().max(60), chord).default({}),
  notify: z
    .strictObject({
      decision: z.boolean().default(true),
      failed: z.boolean().default(true),
      budget: z.boolean().default(true),
      regressed: z.boolean().default(true),
      finished: z.boolean().default(false),
    })
    .prefault({}),
  sound: z.boolean().default(true),
  /** Local time; from after to: over midnight. null: none. */
  quiet: z.strictObject({ from: clockTime, to: clockTime }).nullable().default(null),
  /** Queries of History that are kept under a name. */
  filters: savedFilters.default([]),
  /** Where the desk was left, as the address of a screen. */
  place: z.string().max(500).default(''),
})
export type Preferences = z.infer<typeof preferencesSchema>

/** What is left out stays as it is. */
const change = z.strictObject({
  theme: preferencesSchema.shape.theme.removeDefault(),
  contrast: preferencesSchema.shape.contrast.removeDefault(),
  colours: preferencesSchema.shape.colours.removeDefault(),
  motion: preferencesSchema.shape.motion.removeDefault(),
  density: preferencesSchema.shape.density.removeDefault(),
  bareKeys: z.boolean(),
  keys: preferencesSchema.shape.keys.removeDefault(),
  notify: z.strictObject({
    decision: z.boolean(),
    failed: z.boolean(),
    budget: z.boolean(),
    regressed: z.boolean(),
    finished: z.boolean(),
  }),
  sound: z.boolean(),
  quiet: preferencesSchema.shape.quiet.removeDefault(),
  filters: savedFilters,
  place: preferencesSchema.shape.place.removeDefault(),
})
export const preferencesChange = change.partial()
export type PreferencesChange = z.infer<typeof preferencesChange>

const sizeRow = z.object({
  what: z.enum(['log', 'search', 'archive', 'revisions', 'tasks', 'snapshots', 'other']),
  sizeBytes: count,
  files: count,
})
const sizesSchema = z.object({
  dataDir: z.string(),
  rows: z.array(sizeRow),
  totalBytes: count,
  /** Of the file system that holds it; null: the system does not say. */
  freeBytes: count.nullable(),
  /** Folders that could not be read: what is in them is not counted. */
  unread: z.array(z.string()),
})
export type Sizes = z.infer<typeof sizesSchema>

const probe = z.object({
  holds: z.boolean(),
  profile: z.string(),
  probe: z.string(),
  expected: z.string(),
  saw: z.string(),
})
const examinedSchema = z.object({
  name: z.enum(['local', 'docker']),
  available: z.boolean(),
  detail: z.string(),
  reason: z.string().nullable(),
  fix: z.string().nullable(),
  probes: z.array(probe),
  /** Why the probes did not run where a box can be had all the same. */
  error: z.string().nullable(),
})
export type ExaminedProvider = z.infer<typeof examinedSchema>

const modelTestSchema = z.object({
  /** True: it answered. */
  ok: z.boolean(),
  simulated: z.boolean(),
  /** What it said, cut; null where it said nothing. */
  text: z.string().nullable(),
  error: z.string().nullable(),
  attempts: count,
  durationMs: z.number(),
  /** null: not reported. */
  usage: tokenUsageSchema.nullable(),
  /** null: not known, and `costReason` says why. */
  costNanoUsd: count.nullable(),
  costReason: z.string().nullable(),
})
export type ModelTest = z.infer<typeof modelTestSchema>

export const settingsContract = {
  preferences: oc.output(
    z.object({
      preferences: preferencesSchema,
      /** Why the kept ones could not be read, and where they are now; null: they could, or there were none. */
      problem: z.string().nullable(),
    }),
  ),
  /** On disk when it resolves. */
  setPreferences: oc.input(preferencesChange).output(preferencesSchema),
  sizes: oc.output(sizesSchema),
  /** Runs the doctor's probes in a box of every profile; takes a while. Asked twice at a time, both get the same answer. */
  examineSandbox: oc.output(z.array(examinedSchema)),
  /** One small metered call, of no agent: it counts in the budget of the day. */
  testModel: oc
    .input(
      z.strictObject({
        model: z.string().trim().min(1).max(200),
        api: z.enum(['responses', 'chat']).optional(),
        baseUrl: z.string().max(2000).optional(),
        keyEnv: z.string().max(200).optional(),
        credential: z.string().max(64).optional(),
      }),
    )
    .output(modelTestSchema),
  /** Versions and states as lines to copy, with keys masked and the home folder as `~`. */
  diagnostics: oc.output(z.object({ text: z.string() })),
}

/** Those that the operator had paused with all others. */
export const resumeAllContract = oc.output(
  z.object({
    resumed: z.array(taskId),
    /** Could not be resumed now. */
    left: z.array(z.object({ task: taskId, reason: z.string() })),
  }),
)
