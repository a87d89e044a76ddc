import { KernelError } from '../errors.ts'
import type { Keys, Masks } from './credentials.ts'

/** Shorter values would mask ordinary words. */
export const leastKeyLength = 8

/**
 * Reads keys from a copy of `env` taken now; later changes of the environment do not matter, and nothing is removed from it.
 * The copy is held by closures alone: no inspection or serialisation of the result shows it.
 */
export function keysFromEnvironment(env: Readonly<Record<string, string | undefined>>, masks: Masks): Keys {
  const copy = new Map(Object.entries(env))
  return {
    get(variable) {
      const key = copy.get(variable)?.trim() ?? ''
      if (key === '') return null
      if (key.length < leastKeyLength)
        throw new KernelError(
          'unavailable',
          `The value of ${variable} is shorter than ${leastKeyLength} characters: that is no key.`,
        )
      masks.add(key)
      if (!/^[\x20-\x7e\x80-\xff]+$/.test(key))
        throw new KernelError(
          'unavailable',
          `The value of ${variable} holds line breaks or other characters that no key has: set it anew.`,
        )
      return key
    },
  }
}
