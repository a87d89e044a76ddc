import { z } from 'zod'
import type { ExecutorToKernel, Json, KernelToExecutor, StreamCredit } from './executor.ts'

/**
 * What the kernel accepts from an executor: params of its requests, results of the kernel's own.
 * Strict (an unknown field is refused), capped, and held to the plain types of executor.ts at compile time.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')
const seq = z.number().int().nonnegative()
/** Depth and size are the frame reader's to bound, so that no walk is made here. */
const json = z.custom<Json>((value) => value !== undefined)
const jsonObject = z.record(z.string(), json)
const scope = z.enum(['task', 'agent']).optional()
const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes('\0'), 'must not contain NUL')
const nothing = z.strictObject({})
const artifactName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/, 'must be 1 to 200 characters of [A-Za-z0-9._/-] in parts between /')
  .refine((value) => !value.includes('..'), 'must not contain ..')
const job = z.string().regex(/^job-\d{1,9}$/)
const snapshotName = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 characters of [A-Za-z0-9._-]')
const proposal = z.string().regex(/^P-\d{1,9}$/)

const historyRead = z.strictObject({
  scope,
  after: seq.optional(),
  before: seq.optional(),
  kinds: z.array(z.string().max(64)).max(64).optional(),
  limit: z.number().int().min(1).max(500).optional(),
  order: z.enum(['asc', 'desc']).optional(),
})

export const requestSchemas = {
  'history.read': historyRead,
  'history.query': historyRead.extend({
    tool: z.string().max(200).optional(),
    revision: sha256.optional(),
    turn: z.number().int().nonnegative().optional(),
    status: z.string().max(64).optional(),
  }),
  'history.search': z.strictObject({
    text: z.string().min(1).max(1000),
    scope,
    limit: z.number().int().min(1).max(500).optional(),
  }),
  'history.append': z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('message.appended'),
      data: z.strictObject({
        role: z.enum(['assistant', 'summary']),
        text: z.string().max(200_000),
        keepFrom: seq.optional(),
      }),
    }),
    z.strictObject({
      kind: z.literal('note.added'),
      data: z.strictObject({ text: z.string().max(200_000), topic: z.string().max(200).optional() }),
    }),
  ]),
  'report.usage': z.strictObject({ scope }),
  'artifact.put': z.strictObject({
    name: artifactName,
    text: z.string(),
    expectVersion: z.number().int().nonnegative().optional(),
  }),
  'artifact.get': z.strictObject({ name: artifactName, version: z.number().int().positive().optional() }),
  'artifact.list': z.strictObject({ prefix: z.string().max(200).optional() }),
  'artifact.versions': z.strictObject({ name: artifactName }),
  'blob.put': z.strictObject({ base64: z.base64() }),
  'blob.get': z.strictObject({
    hash: sha256,
    offset: z.number().int().nonnegative().optional(),
    length: z.number().int().min(1).max(262_144).optional(),
  }),
  'model.call': z.strictObject({
    api: z.enum(['responses', 'chat']),
    body: jsonObject,
    stream: z.boolean().optional(),
  }),
  'sandbox.exec': z.strictObject({
    command: z.string().min(1).max(131_072),
    cwd: path.optional(),
    timeoutMs: z.number().int().min(1).max(86_400_000).optional(),
    stdin: z.string().optional(),
    outputBytes: z.number().int().min(0).max(262_144).optional(),
    background: z.boolean().optional(),
  }),
  'sandbox.jobs': nothing,
  'sandbox.logs': z.strictObject({
    job,
    stream: z.enum(['stdout', 'stderr']).optional(),
    offset: z.number().int().optional(),
    length: z.number().int().min(1).max(262_144).optional(),
    waitMs: z.number().int().min(0).max(60_000).optional(),
  }),
  'sandbox.kill': z.strictObject({ job }),
  'sandbox.read': z.strictObject({
    path,
    offset: z.number().int().nonnegative().optional(),
    length: z.number().int().min(1).max(262_144).optional(),
  }),
  'sandbox.write': z.strictObject({
    path,
    text: z.string(),
    expect: z.union([sha256, z.literal('absent')]).optional(),
  }),
  'sandbox.list': z.strictObject({ path }),
  'sandbox.snapshot': z.strictObject({ name: snapshotName }),
  'sandbox.restore': z.strictObject({ name: snapshotName }),
  'sandbox.snapshots': nothing,
  'policy.status': nothing,
  'policy.read': z.strictObject({ path }),
  'policy.diff': nothing,
  'policy.propose': z.strictObject({
    claim: z.string().trim().min(1).max(500),
    why: z.string().max(4000),
    evidence: z.array(seq).max(100).optional(),
    expects: z.string().max(1000).optional(),
  }),
  'policy.withdraw': z.strictObject({ proposal }),
  'policy.reset': z.strictObject({ to: z.union([sha256, z.literal('active'), z.literal('base')]) }),
  'task.complete': z.strictObject({ summary: z.string().max(20_000) }),
  'task.ask': z.strictObject({ question: z.string().trim().min(1).max(4000) }),
} as const satisfies { [M in keyof ExecutorToKernel]: z.ZodType<ExecutorToKernel[M]['params']> }

export const resultSchemas = {
  initialize: z.strictObject({
    wire: z.number().int(),
    name: z.string().max(200),
    tools: z
      .array(
        z.strictObject({
          name: z.string().max(200),
          description: z.string().max(4000),
          file: z.string().max(200).optional(),
        }),
      )
      .max(200)
      // They are kept in one event each time the executor starts.
      .refine((tools) => JSON.stringify(tools).length <= 64_000, 'must take at most 64,000 characters of JSON in all'),
  }),
  'turn.run': z.strictObject({
    outcome: z.enum(['yielded', 'completed', 'failed']),
    reason: z.string().max(4000).optional(),
    steps: z.number().int().nonnegative(),
    toolOutputs: z.array(jsonObject).max(1000).optional(),
  }),
  'turn.cancel': nothing,
  drain: nothing,
  ping: z.strictObject({ nonce: z.number().int() }),
} as const satisfies { [M in keyof KernelToExecutor]: z.ZodType<KernelToExecutor[M]['result']> }

export const creditSchema = z.strictObject({
  call: z.number().int(),
  credits: z.number().int().min(1).max(1024),
}) satisfies z.ZodType<StreamCredit>

type Keys<T> = T extends unknown ? keyof T : never
type Missing<Wire, Schema> = Exclude<Keys<Wire>, Keys<Schema>>
type Uncovered =
  | {
      [M in keyof ExecutorToKernel]: Missing<ExecutorToKernel[M]['params'], z.infer<(typeof requestSchemas)[M]>>
    }[keyof ExecutorToKernel]
  | {
      [M in keyof KernelToExecutor]: Missing<KernelToExecutor[M]['result'], z.infer<(typeof resultSchemas)[M]>>
    }[keyof KernelToExecutor]
/** Fails to compile when the wire's types have a field that no schema knows: `satisfies` alone lets an optional one pass. */
export const everyFieldHasASchema: [Uncovered] extends [never] ? true : never = true
