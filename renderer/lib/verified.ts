import type { HostStatus } from '../../kernel/wire/operator.ts'

export interface VerifiedWords {
  tone: 'ok' | 'bad' | 'muted'
  text: string
}

/** Says no more than what was verified: nothing of an empty log, and of a longer one only up to where it ended then. */
export function verifiedWords(
  subject: string,
  verified: HostStatus['verified'],
  lastSeq: number | undefined,
  figure: (count: number) => string = String,
): VerifiedWords {
  if (verified && !verified.ok) return { tone: 'bad', text: `✗ ${subject}: ${verified.problem ?? 'it does not hold'}` }
  if (!verified || verified.events === 0) return { tone: 'muted', text: `${subject} not verified yet` }
  const since = Math.max(0, (lastSeq ?? verified.events) - verified.events)
  const rest = since > 0 ? ` · ${figure(since)} since` : ''
  return { tone: 'ok', text: `✓ ${subject} verified to #${figure(verified.events)}${rest}` }
}
