import { KernelError } from '../errors.ts'
import type { Keys } from './credentials.ts'

/** Shorter values would mask ordinary words. */
const leastKeyLength = 8
const mask = '[redacted key]'

/**
 * Reads keys from a copy of `env` taken now; later changes of the environment do not matter, and nothing is removed from it.
 * The copy is held by closures alone: no inspection or serialisation of the result shows it.
 */
export function keysFromEnvironment(env: Readonly<Record<string, string | undefined>>): Keys {
  const copy = new Map(Object.entries(env))
  const givenOut = new Set<string>()
  let masked: string[] = []
  return {
    get(variable) {
      const key = copy.get(variable)?.trim() ?? ''
      if (key === '') return null
      if (key.length < leastKeyLength)
        throw new KernelError(
          'invalid',
          `The value of ${variable} is shorter than ${leastKeyLength} characters: that is no key.`,
        )
      if (!givenOut.has(key)) {
        givenOut.add(key)
        masked = [...givenOut].flatMap(forms).sort((a, b) => b.length - a.length)
      }
      return key
    },
    redact: (text) => masked.reduce((result, form) => result.replaceAll(form, mask), text),
    keyStart: (text) => Math.max(0, ...masked.map((form) => overlap(text, form))),
  }
}

/** A key as it may appear: plain, URL-encoded, and in base64 at each of the three alignments that it can have there. */
function forms(key: string): string[] {
  const inside = [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.from(`${' '.repeat(shift)}${key}`)
      .toString('base64')
      .replace(/=+$/, '')
    // Characters that share bits with a neighbour vary; what lies between them does not.
    const fixed = encoded.slice(shift === 0 ? 0 : shift + 1, encoded.length - 1)
    return [fixed, fixed.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return [...new Set([key, encodeURIComponent(key), ...inside])]
}

/** The length of the longest end of `text` that `form` begins with and goes beyond. */
function overlap(text: string, form: string): number {
  let length = Math.min(text.length, form.length - 1)
  while (length > 0 && !text.endsWith(form.slice(0, length))) length -= 1
  return length
}
