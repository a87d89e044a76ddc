import type { ModelChoice } from '../wire/events.ts'
import { statusOf } from './upstream.ts'

const answerMs = 10_000

/**
 * Why nothing answers at a model's endpoint; null: something does. It is asked without a key, so that any word of it counts:
 * a refusal for want of one too, an overload not. As a call of the model, it goes there directly and follows no redirect.
 */
export async function endpointProblem({ baseUrl }: Pick<ModelChoice, 'baseUrl'>): Promise<string | null> {
  const late = AbortSignal.timeout(answerMs)
  try {
    const status = await statusOf(`${baseUrl.replace(/\/+$/, '')}/models`, late)
    return status >= 500 || status === 429 ? `HTTP ${status}` : null
  } catch (error) {
    if (late.aborted) return `nothing came for ${answerMs / 1000} s`
    const { code, message } = error as NodeJS.ErrnoException
    return message || code || 'the connection failed'
  }
}
