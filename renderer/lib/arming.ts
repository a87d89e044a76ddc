// When an approval may be given. Pure: the page feeds it what it sees, and the button prints what it answers.

export interface ArmingInput {
  now: number
  /** When the pane became visible in a focused window, epoch ms; null while it is not both. */
  attendedSince: number | null
  state: string
  /** Why the kernel would refuse now. */
  blocked: string | null
  risk: 'LOW' | 'MED' | 'HIGH' | 'KERNEL' | null
  /** `isLarge`: more changed lines, or longer ones, than can be taken in at a glance. */
  files: readonly { isViewed: boolean; isLarge: boolean; isHuge: boolean }[]
  /** Hunks of high risk that are not decided yet. */
  riskyHunksLeft: number
  /** Hunks that are left out: then the whole is not what the operator wants. */
  rejectedHunks: number
  /** The operator has changed the proposed text. */
  isEdited: boolean
  /** Comments that would be lost by an approval. */
  comments: number
  /** Unresolved checks that gate, without a reason to override them. */
  overridesLeft: number
  reason: string
  hasView: boolean
  isStale: boolean
  isSending: boolean
}

export type Arming =
  | { kind: 'missing'; what: string }
  /** Nothing is missing but time. */
  | { kind: 'waiting'; untilMs: number }
  /** `holdMs`: for how long the chord or the button must be held; 0: not at all. */
  | { kind: 'armed'; holdMs: number }

const waitMs = 800
const holdMs = 1500

/**
 * Low risk needs attention alone, from medium on every file must have been viewed, and high risk needs each of its risky
 * hunks decided, a reason, and a hold. What is large must have been read through whatever its risk. The wait starts when
 * the pane is visible and the window has focus, so that neither a queued key nor the click that brings the window to the
 * front can approve.
 */
export function arm(input: ArmingInput): Arming {
  const barred = bar(input)
  if (barred !== null) return missing(barred)
  const isHigh = input.risk === 'HIGH'
  if (input.isEdited) return missing('save your edit, or drop it')
  if (input.rejectedHunks > 0) return missing(`${many(input.rejectedHunks, 'hunk')} left out: approve a part`)
  const left = input.files.filter(({ isViewed, isLarge }) => !isViewed && (input.risk !== 'LOW' || isLarge)).length
  if (left > 0) return missing(`view ${left} more ${left === 1 ? 'file' : 'files'} first`)
  if (isHigh && input.riskyHunksLeft > 0)
    return missing(`decide ${many(input.riskyHunksLeft, 'high-risk hunk')} first (A or X)`)
  if (input.overridesLeft > 0) return missing(`give a reason for ${many(input.overridesLeft, 'unresolved check')}`)
  if (input.comments > 0) return missing(`${many(input.comments, 'comment')} not sent: return it, or remove them`)
  const isHuge = input.files.some((file) => file.isHuge)
  if ((isHigh || isHuge) && input.reason.trim() === '')
    return missing(`${isHigh ? 'high risk' : 'a file too large to compare'}: write a reason first`)
  if (input.attendedSince === null) return missing('click into this window first')
  const untilMs = input.attendedSince + waitMs - input.now
  return untilMs > 0 ? { kind: 'waiting', untilMs } : { kind: 'armed', holdMs: isHigh || isHuge ? holdMs : 0 }
}

/** Why no verdict at all can be given now; null when one can. What it says holds for every verb. */
export function bar(
  input: Pick<ArmingInput, 'isSending' | 'state' | 'blocked' | 'risk' | 'isStale' | 'hasView'>,
): string | null {
  if (input.isSending) return 'sending'
  if (input.state !== 'ready') return `the proposal is ${input.state}`
  if (input.blocked !== null) return input.blocked
  if (input.risk === 'KERNEL') return 'it changes what no proposal may: take the rest as a part, or reject it'
  if (input.isStale) return 'the active revision changed: reload the view'
  if (!input.hasView) return 'waiting for the kernel to issue this view'
  return null
}

function missing(what: string): Arming {
  return { kind: 'missing', what }
}

export function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
