import { hash } from 'node:crypto'

/** The hash before the first event. */
export const genesis = '0'.repeat(64)

/** Columns of an event that its hash covers, in the order of the table. `data` is covered by its own hash. */
export const headerColumns = [
  'at',
  'agent',
  'task',
  'run',
  'generation',
  'turn',
  'step',
  'actor',
  'revision',
  'kind',
] as const

/** Values of `headerColumns`. */
export type HeaderValues = readonly (string | number | null)[]

/** SHA-256 of the text's UTF-8 bytes, lower-case hex. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/**
 * The link of one event: SHA-256 over its header, the hash of its payload and the link before. The payload's bytes are
 * not in it, so that a payload can be tombstoned and the chain still verifies.
 */
export function link(seq: number, header: HeaderValues, payloadHash: string, prevHash: string): string {
  return sha256(JSON.stringify([seq, ...header, payloadHash, prevHash]))
}

/** What `model.called` keeps of the list of items that the model was sent. */
export function requestHash(items: readonly { kind: string; hash: string }[]): string {
  return sha256(items.map(({ kind, hash }) => `${kind} ${hash}\n`).join(''))
}
