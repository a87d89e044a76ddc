// When an approval may be given. Pure: the page feeds it what it sees, and the button prints what it answers.

export interface ArmingInput {
  now: number
  /** When the pane became visible in a focused window, epoch ms; null while it is not both. */
  attendedSince: number | null
  state: string
  /** Why the kernel would refuse now. */
  blocked: string | null
  risk: 'LOW' | 'MED' | 'HIGH' | 'KERNEL' | null
  files: number
  filesViewed: number
  reason: string
  hasView: boolean
  isStale: boolean
  isSending: boolean
}

export type Arming =
  | { kind: 'missing'; what: string }
  /** Nothing is missing but time. */
  | { kind: 'waiting'; untilMs: number }
  | { kind: 'armed' }

const waitMs = { LOW: 800, MED: 800, HIGH: 1500, KERNEL: 800 }

/**
 * Low risk needs attention alone; from medium on every file must have been viewed; high risk needs a reason too. The
 * wait starts when the pane is visible and the window has focus, so that neither a queued key nor the click that brings
 * the window to the front can approve.
 */
export function arm(input: ArmingInput): Arming {
  if (input.isSending) return missing('sending')
  if (input.state !== 'ready') return missing(`the proposal is ${input.state}`)
  if (input.blocked !== null) return missing(input.blocked)
  if (input.risk === 'KERNEL') return missing('it touches the kernel: nobody can approve it here')
  if (input.isStale) return missing('the active revision changed: reload the view')
  if (!input.hasView) return missing('waiting for the kernel to issue this view')
  const left = input.files - input.filesViewed
  if (input.risk !== 'LOW' && left > 0) return missing(`view ${left} more ${left === 1 ? 'file' : 'files'} first`)
  if (input.risk === 'HIGH' && input.reason.trim() === '') return missing('high risk: write a reason first')
  if (input.attendedSince === null) return missing('click into this window first')
  const untilMs = input.attendedSince + waitMs[input.risk ?? 'MED'] - input.now
  return untilMs > 0 ? { kind: 'waiting', untilMs } : { kind: 'armed' }
}

function missing(what: string): Arming {
  return { kind: 'missing', what }
}
