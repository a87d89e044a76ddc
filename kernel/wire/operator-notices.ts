import { oc } from '@orpc/contract'
import { z } from 'zod'
import { done } from './ids.ts'

export const noticesContract = {
  /**
   * Off every screen until it says something else, or happens anew after it was mended; over restarts too. `text` as it was shown:
   * `conflict` where it says something else by now, `not-found` where it is mended.
   */
  putAway: oc.input(z.strictObject({ id: z.string().max(200), text: z.string().max(4000) })).output(done),
}
