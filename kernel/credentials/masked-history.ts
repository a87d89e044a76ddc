import type { History } from '../history/history.ts'
import type { EventDraft } from '../wire/events.ts'
import type { Masks } from './credentials.ts'
import { maskedValue } from './masks.ts'

/**
 * The same history, into which no known key is written, whoever writes: events, blobs and requests hold a mark instead.
 * Bytes are searched as they are; what they compress or encrypt is not seen.
 */
export function maskedHistory(history: History, masks: Masks): History {
  const clean = <D extends EventDraft>(draft: D): D => ({ ...draft, data: maskedValue(draft.data, masks.redact) })

  function cleanBytes(bytes: Uint8Array | string): Uint8Array | string {
    if (typeof bytes === 'string') return masks.redact(bytes)
    // One character for each byte: what is not masked comes back as it was.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    const masked = masks.redact(text)
    return masked === text ? bytes : Buffer.from(masked, 'latin1')
  }

  const own: Partial<History> = {
    append: (drafts) => history.append(drafts.map(clean)),
    appendIfActive: (agent, active, drafts) => history.appendIfActive(agent, active, drafts.map(clean)),
    putBlob: (bytes) => history.putBlob(cleanBytes(bytes)),
    putRequest: (draft) =>
      history.putRequest({ ...draft, items: draft.items.map((item) => ({ ...item, json: masks.redact(item.json) })) }),
  }
  return Object.assign(Object.create(history) as History, own)
}
