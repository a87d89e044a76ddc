import { oc } from '@orpc/contract'
import { z } from 'zod'
import { modelPriceSchema } from './events.ts'

export type PriceRow = z.infer<typeof modelPriceSchema>

/** Prices that the operator has set. They come before every list. */
export const pricesContract = {
  list: oc.output(z.array(modelPriceSchema)),
  /** In force for calls to come, in place of an earlier one of the model at this endpoint. */
  set: oc.input(modelPriceSchema.omit({ since: true })).output(z.object({ seq: z.number().int().nonnegative() })),
}
