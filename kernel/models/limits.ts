import { calcPrice } from '@pydantic/genai-prices'
import * as published from 'gpt-tokenizer/models'
import type { ModelChoice } from '../wire/events.ts'
import type { ModelCards } from './cards.ts'

/** Assumed of a model that nobody describes: small enough for most, so that a policy errs by compacting early. */
const assumed = { contextWindow: 128_000, maxOutputTokens: 32_768 }

interface Published {
  context_window?: number
  max_output_tokens?: number
}

/** Size limits of a model in tokens: from the simulator's card, else as published for its name. */
export function limitsOf(
  model: Pick<ModelChoice, 'name' | 'simulated'>,
  cards: ModelCards,
): { contextWindow: number; maxOutputTokens: number } {
  if (model.simulated) {
    const card = cards.find(model.name)
    return card === null ? assumed : { contextWindow: card.context_window, maxOutputTokens: card.max_output_tokens }
  }
  const known: Published = Object.hasOwn(published, model.name)
    ? ((published as unknown as Record<string, Published>)[model.name] ?? {})
    : {}
  const listed = calcPrice({}, model.name, { providerId: 'openai' })?.model.context_window
  return {
    contextWindow: known.context_window ?? listed ?? assumed.contextWindow,
    maxOutputTokens: known.max_output_tokens ?? assumed.maxOutputTokens,
  }
}
