import type { GatewayCall } from './models.ts'

type OnDelta = NonNullable<GatewayCall['onDelta']>
type Delta = Parameters<OnDelta>[0]

export interface Masks {
  /** Masks keys in whatever a provider sent back. */
  redact: (text: string) => string
  /** How many characters at the end of a text may be the beginning of a key. */
  keyStart: (text: string) => number
}

/**
 * Passes on what grows with keys masked, also one that comes in pieces: an end that may become a key waits for what
 * follows it, or for `flush`.
 */
export function maskedDeltas(onDelta: OnDelta, { redact, keyStart }: Masks) {
  let type: Delta['type'] = 'text'
  let held = ''

  async function flush(): Promise<void> {
    const text = held
    held = ''
    if (text !== '') await onDelta({ type, text })
  }

  return {
    async take(delta: Delta): Promise<void> {
      if (delta.type !== type) await flush()
      type = delta.type
      const text = redact(held + delta.text)
      const end = text.length - keyStart(text)
      held = text.slice(end)
      if (end > 0) await onDelta({ type, text: text.slice(0, end) })
    },
    flush,
  }
}
