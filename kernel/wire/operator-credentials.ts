import { oc } from '@orpc/contract'
import { z } from 'zod'

/** Sealed keys. A key goes in once, with `put`, and nothing gives it back. */

const credentialName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
const sealer = z.enum(['keychain', 'passphrase'])

const credentialSchema = z.strictObject({
  name: credentialName,
  /** Counts from 1; sealing anew under the same name raises it. */
  version: z.number().int().positive(),
  /** The one origin (scheme, host, port) that it is sent to. */
  origin: z.string(),
  sealer,
  sealedAt: z.number(),
})

const vaultSchema = z.strictObject({
  /** `empty`: no key was ever sealed. `locked`: a passphrase opens it. `unusable`: `problem` says why and what to do. */
  state: z.enum(['empty', 'open', 'locked', 'unusable']),
  /** What seals keys, or would; null: nothing can here. */
  sealer: sealer.nullable(),
  problem: z.string().nullable(),
  /** Whether `unlock` is what is missing: to open it, or (`empty`) to choose the passphrase of a new one. */
  wantsPassphrase: z.boolean(),
})

export const credentialsContract = {
  status: oc.output(vaultSchema.extend({ keys: z.array(credentialSchema) })),
  put: oc
    .input(z.strictObject({ name: credentialName, key: z.string().max(4096), baseUrl: z.string().max(2000) }))
    .output(credentialSchema),
  remove: oc.input(z.strictObject({ name: credentialName })).output(z.object({ seq: z.number() })),
  /** Opens what is locked, or sets the passphrase of a new vault; tasks that waited for a key go on. */
  unlock: oc
    .input(z.strictObject({ passphrase: z.string().max(1024) }))
    .output(z.object({ resumed: z.array(z.string()) })),
}
