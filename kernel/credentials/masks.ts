import type { Masks } from './credentials.ts'

export const mask = '[redacted key]'

/** Keys are held by closures alone: no inspection or serialisation of the result shows them. */
export function createMasks(): Masks {
  const keys = new Set<string>()
  let forms: string[] = []
  return {
    add(key) {
      if (keys.has(key)) return
      keys.add(key)
      // A longer form may hold a shorter one.
      forms = [...keys].flatMap(formsOf).sort((a, b) => b.length - a.length)
    },
    redact: (text) => forms.reduce((result, form) => result.replaceAll(form, mask), text),
    keyStart: (text) => Math.max(0, ...forms.map((form) => overlap(text, form))),
  }
}

/** Every string in it through `redact`; what needs no change stays the same object. */
export function maskedValue<T>(value: T, redact: (text: string) => string): T {
  if (typeof value === 'string') return redact(value) as T
  if (Array.isArray(value)) {
    const items = value.map((item) => maskedValue(item, redact))
    return items.some((item, i) => item !== value[i]) ? (items as T) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, item]) => [redact(name), maskedValue(item, redact)] as const)
  const isSame = entries.every(([name, item]) => (value as Record<string, unknown>)[name] === item)
  return isSame ? value : (Object.fromEntries(entries) as T)
}

/** A key as it may appear: plain, as JSON, URL-encoded, in hex, and in base64 at each of the three alignments that it can have there. */
function formsOf(key: string): string[] {
  const hex = Buffer.from(key).toString('hex')
  const inBase64 = [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.from(`${' '.repeat(shift)}${key}`)
      .toString('base64')
      .replace(/=+$/, '')
    // Characters that share bits with a neighbour vary; what lies between them does not.
    const fixed = encoded.slice(shift === 0 ? 0 : shift + 1, encoded.length - 1)
    return [fixed, fixed.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const asJson = JSON.stringify(key).slice(1, -1)
  return [...new Set([key, asJson, encodeURIComponent(key), hex, hex.toUpperCase(), ...inBase64])]
}

/** The length of the longest end of `text` that `form` begins with and goes beyond. */
function overlap(text: string, form: string): number {
  let length = Math.min(text.length, form.length - 1)
  while (length > 0 && !text.endsWith(form.slice(0, length))) length -= 1
  return length
}
