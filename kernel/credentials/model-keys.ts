import { KernelError } from '../errors.ts'
import type { Notices } from '../notices.ts'
import type { ModelChoice } from '../wire/events.ts'
import type { Keys, Vault } from './credentials.ts'

/** Where the key of a model is: in the vault, where its choice names a credential, else in the environment. */
export interface ModelKeys {
  /** For one call. null: it needs none, or the variable holds none. @throws what `Vault.take` throws. */
  take(model: ModelChoice): Promise<string | null>
  /** That there is such a key; it may be locked. @throws KernelError `not-found`, `forbidden`, `unavailable`. */
  require(model: ModelChoice): Promise<void>
  /** That it can be had now; a notice says what is wrong until it is. @throws KernelError `unavailable`, for every reason. */
  ready(model: ModelChoice): Promise<void>
}

export function createModelKeys(keys: Keys, vault: Vault, notices: Notices): ModelKeys {
  async function take({ credential, keyEnv, baseUrl }: ModelChoice): Promise<string | null> {
    if (credential !== undefined) return vault.take(credential, baseUrl)
    return keyEnv === null ? null : keys.get(keyEnv)
  }

  function requireVariable(variable: string | null): void {
    if (variable === null || keys.get(variable) !== null) return
    throw new KernelError(
      'unavailable',
      `the environment variable ${variable} holds no key: set it and start the app again`,
    )
  }

  return {
    take,
    async require({ credential, keyEnv, baseUrl }) {
      if (credential === undefined) requireVariable(keyEnv)
      else await vault.require(credential, baseUrl)
    },
    async ready(model) {
      const id = `key.${model.credential ?? model.keyEnv}`
      try {
        if (model.credential === undefined) requireVariable(model.keyEnv)
        else await vault.take(model.credential, model.baseUrl)
        notices.clear(id)
      } catch (error) {
        const { message } = error as Error
        notices.raise({ id, severity: 'warning', text: `A task waits for its key. ${message}`, fix: null, task: null })
        throw new KernelError('unavailable', message, { cause: error })
      }
    },
  }
}
