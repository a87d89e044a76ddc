import { oc } from '@orpc/contract'
import { z } from 'zod'
import { count } from './ids.ts'

/** Snapshots of a task's sandbox, with the state of its world. */

const task = z.string().regex(/^T-\d{1,9}$/)
const name = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 . _ -')

export const snapshotSchema = z.object({ name: z.string(), at: count, sizeBytes: count })
export type SnapshotRow = z.infer<typeof snapshotSchema>

export const snapshotsContract = {
  /** Of a task that runs or is paused, oldest first. */
  list: oc.input(z.strictObject({ task })).output(z.array(snapshotSchema)),
  /** In place of an earlier one of the name; what runs is stopped meanwhile. */
  take: oc.input(z.strictObject({ task, name })).output(snapshotSchema),
  /** Of a paused task: files and world go back, jobs have ended with the pause, /policy stays. */
  restore: oc.input(z.strictObject({ task, name })).output(z.object({ seq: count })),
}
