import type { Replays } from '../executor.ts'
import { defaultTimings, type Timings } from '../timings.ts'
import type { ReplayParts } from './answers.ts'
import { replayContext } from './context.ts'
import { replayTape } from './tape.ts'

/** @param options `timings` overrides single deadlines; only tests do. */
export function createReplays(options: Omit<ReplayParts, 'timings'> & { timings?: Partial<Timings> }): Replays {
  const parts: ReplayParts = { ...options, timings: { ...defaultTimings, ...options.timings } }
  return {
    context: (request) => replayContext(parts, request),
    tape: (request) => replayTape(parts, request),
  }
}
