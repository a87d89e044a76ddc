import { z } from 'zod'

/** The names and numbers that the schemas of the wire share. */

export const agentName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
export const taskId = z.string().regex(/^T-\d+$/)
export const proposalId = z.string().regex(/^P-\d+$/)
export const proposalRef = z.strictObject({ agent: agentName, proposal: proposalId })
/** In hexadecimal. */
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
export const count = z.number().int().nonnegative()
/** What an action answers that has nothing else to say: the event that it became. */
export const done = z.strictObject({ seq: count })
