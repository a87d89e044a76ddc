import type { HostStatus } from '../../kernel/wire/operator.ts'
import { useConnectionState } from '../lib/desk.tsx'
import { absoluteTime, whole } from '../lib/format.ts'
import { verifiedWords } from '../lib/verified.ts'

interface Props {
  subject: string
  verified: HostStatus['verified']
  lastSeq: number | undefined
}

/** How far the log was verified and how much came since. What a lost host said last is shown as old. */
export function Verified({ subject, verified, lastSeq }: Props) {
  const isOld = useConnectionState().status !== 'open'
  const { tone, text } = verifiedWords(subject, verified, lastSeq, whole)
  const title = verified ? `${whole(verified.events)} events, ${absoluteTime(verified.at)}` : undefined
  return (
    <span className={isOld && tone === 'ok' ? 'tone-muted' : `tone-${tone}`} title={title}>
      {text}
    </span>
  )
}
