import { z } from 'zod'
import { KernelError } from '../errors.ts'

/** What a simulator says of a model of its own, at `GET …/models`. Prices are USD per million tokens. */
const modelCardSchema = z.object({
  id: z.string().min(1).max(200),
  context_window: z.number().int().positive(),
  max_output_tokens: z.number().int().positive(),
  pricing: z.object({
    input: z.number().nonnegative(),
    cached_input: z.number().nonnegative(),
    output: z.number().nonnegative(),
  }),
  simulated: z.literal(true),
})
export type ModelCard = z.infer<typeof modelCardSchema>

/** The cards of a `GET …/models` answer. @throws KernelError `unavailable`: this is no simulator. */
export function parseModelCards(answer: unknown): ModelCard[] {
  const parsed = z.object({ data: z.array(modelCardSchema) }).safeParse(answer)
  if (!parsed.success)
    throw new KernelError('unavailable', 'This endpoint lists no simulated models with cards; is it the simulator?')
  return parsed.data.data
}

/** Cards by model name. Filled when the simulator has started, which may be after the kernel has. */
export interface ModelCards {
  add(cards: readonly ModelCard[]): void
  find(name: string): ModelCard | null
}

export function createModelCards(): ModelCards {
  const byName = new Map<string, ModelCard>()
  return {
    add(cards) {
      for (const card of cards) byName.set(card.id, card)
    },
    find: (name) => byName.get(name) ?? null,
  }
}
