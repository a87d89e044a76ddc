import type { OwnCalls } from '../models/models.ts'
import type { ModelChoice } from '../wire/events.ts'
import type { ModelTest } from '../wire/operator-settings.ts'

/** As a person names a model; what is left out is the kernel's to choose. */
export interface ModelRequest {
  model: string
  api?: ModelChoice['api'] | undefined
  baseUrl?: string | undefined
  keyEnv?: string | undefined
  credential?: string | undefined
}

export interface ModelTestParts {
  calls: OwnCalls
  choose(request: ModelRequest): ModelChoice
  resolve(choice: ModelChoice, seed: number): Promise<ModelChoice>
  requireKey(model: ModelChoice): Promise<void>
}

const instructions = 'Answer with the one word: ready'
const text = 'Are you there?'
/** The least that both APIs take. Of a reasoning model it may all be thought: that is an answer too. */
const answerTokens = 16
const timeoutMs = 60_000
const shownChars = 200

/**
 * Whether a model answers at its endpoint with its key: one small call, metered as any other.
 * @throws KernelError where nothing could be sent: no such model, key or price, no room in the budget of the day.
 */
export function createModelTest({ calls, choose, resolve, requireKey }: ModelTestParts) {
  return async (request: ModelRequest): Promise<ModelTest> => {
    const chosen = choose(request)
    await requireKey(chosen)
    const model = await resolve(chosen, 0)
    const call = { agent: null, revision: null, model, instructions, text, answerTokens, timeoutMs }
    const { status, text: said, error, attempts, durationMs, usage, costNanoUsd, costReason } = await calls.ask(call)
    return {
      ok: status === 'completed' || status === 'incomplete',
      simulated: model.simulated,
      text: said.trim() === '' ? null : said.trim().slice(0, shownChars),
      error: error?.message ?? null,
      ...{ attempts, durationMs, usage, costNanoUsd, costReason },
    }
  }
}
