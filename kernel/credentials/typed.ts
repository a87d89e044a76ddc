import type { Notices } from '../notices.ts'
import type { Masks } from './credentials.ts'
import { redactLookalikes } from './lookalikes.ts'

/** Text that a person wrote, as it may be kept and shown to a model. `what`: `the reason`, say. */
export type Typed = (text: string, what: string) => string

const id = 'key.typed'

/** Masks known keys, and what looks like a provider's key, in what people write; a notice says so until the next clean text. */
export function createTyped(masks: Masks, notices: Notices): Typed {
  return (text, what) => {
    const clean = redactLookalikes(masks.redact(text))
    if (clean === text) notices.clear(id)
    else
      notices.raise({
        id,
        severity: 'warning',
        text: `There was a key in ${what}: it was masked before anything was kept, and no model saw it`,
        fix: 'Keys are given with exodesk key add. If it was seen elsewhere, have its provider replace it',
        task: null,
      })
    return clean
  }
}
