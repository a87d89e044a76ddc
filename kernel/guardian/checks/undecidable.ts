import { KernelError } from '../../errors.ts'
import { type CheckOutcome, unresolved } from './check.ts'

/** Where no box can be had nothing is decided; what else goes wrong is a fault of ours and thrown. */
export async function undecidable<T>(what: string, work: () => Promise<T>): Promise<T | CheckOutcome> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof KernelError) || error.code !== 'unavailable') throw error
    return unresolved(`${what} could not be run: ${error.message}. Mend it and propose again`)
  }
}
