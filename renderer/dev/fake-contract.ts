import { implement } from '@orpc/server'
import { operatorContract } from '../../kernel/wire/operator.ts'

/** What the areas of the invented host implement. */
export const os = implement(operatorContract)
