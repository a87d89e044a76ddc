import { KernelError } from '../errors.ts'
import type { ModelChoice } from '../wire/events.ts'
import { type ModelCards, parseModelCards } from './cards.ts'

/** What a person says of the model that they want. */
export interface ModelRequest {
  model?: string | undefined
  api?: ModelChoice['api'] | undefined
  baseUrl?: string | undefined
  keyEnv?: string | undefined
  credential?: string | undefined
}

const openAi = { baseUrl: 'https://api.openai.com/v1', keyEnv: 'OPENAI_API_KEY' }

/** Which model a request means, and where it answers. */
export function createModelChoice(
  simulator: { models: readonly { name: string }[]; start(): Promise<{ origin: string }> },
  cards: ModelCards,
  /** @throws KernelError where its key cannot be had now. */
  ready: (model: ModelChoice) => Promise<void>,
) {
  const simulated = new Set(simulator.models.map((model) => model.name))

  return {
    /** @throws KernelError `invalid`. */
    choose({ model: name = 'sim-apprentice', api = 'responses', ...request }: ModelRequest): ModelChoice {
      if (simulated.has(name) && request.baseUrl === undefined)
        return { name, api, baseUrl: '', keyEnv: null, simulated: true }
      // Else a misspelt name would go, with the task, to a paid endpoint.
      if (name.startsWith('sim-') && request.baseUrl === undefined)
        throw new KernelError('invalid', `there is no simulated model ${name}; name a base URL if it is another's`)
      const baseUrl = request.baseUrl ?? openAi.baseUrl
      if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
        throw new KernelError('invalid', `${baseUrl} is not a base URL: give one such as ${openAi.baseUrl}`)
      const { credential } = request
      if (credential !== undefined && request.keyEnv !== undefined)
        throw new KernelError(
          'invalid',
          'a key comes from a sealed credential or from the environment: name one of them',
        )
      const isOpenAi = request.baseUrl === undefined && credential === undefined
      const keyEnv = request.keyEnv ?? (isOpenAi ? openAi.keyEnv : null)
      return { name, api, baseUrl, keyEnv, ...(credential && { credential }), simulated: false }
    },

    /** A simulator's address changes from start to start. @throws KernelError `unavailable`. */
    async resolve(choice: ModelChoice, seed: number): Promise<ModelChoice> {
      if (!choice.simulated) {
        await ready(choice)
        return choice
      }
      try {
        const { origin } = await simulator.start()
        const baseUrl = `${origin}/seed/${seed}/v1`
        const answer = await fetch(`${baseUrl}/models`, { redirect: 'error', signal: AbortSignal.timeout(10_000) })
        cards.add(parseModelCards(await answer.json()))
        return { ...choice, baseUrl }
      } catch (error) {
        throw new KernelError('unavailable', `the simulator cannot be used: ${(error as Error).message}`, {
          cause: error,
        })
      }
    },
  }
}
