import type { ModelChoice } from '../wire/events.ts'

const answerMs = 10_000

/**
 * Why nothing answers at a model's endpoint; null: something does. It is asked without a key, so that any word of it counts:
 * a refusal for want of one too, an overload not.
 */
export async function endpointProblem({ baseUrl }: Pick<ModelChoice, 'baseUrl'>): Promise<string | null> {
  try {
    const url = `${baseUrl.replace(/\/+$/, '')}/models`
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
    await answer.body?.cancel()
    return answer.status >= 500 || answer.status === 429 ? `HTTP ${answer.status}` : null
  } catch (error) {
    const { message, cause } = error as Error
    return cause instanceof Error ? cause.message : message
  }
}
