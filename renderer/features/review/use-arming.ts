import { useEffect, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { type Arming, arm } from '../../lib/arming.ts'
import type { Attention } from './use-attention.ts'
import type { Review } from './use-review.ts'

interface Parts {
  detail: ProposalDetail
  review: Review
  attention: Attention | null
  hasView: boolean
  isStale: boolean
  isSending: boolean
}

/** Asks again at the moment when only time is missing. */
export function useArming({ detail, review, attention, ...rest }: Parts): Arming {
  const [, wake] = useState(0)
  const { draft } = review
  const isUnknown = detail.risk === 'HIGH' && review.hunks.data === undefined
  const arming = arm({
    ...rest,
    now: Date.now(),
    attendedSince: attention?.since ?? null,
    state: detail.state,
    blocked: detail.blocked ?? (isUnknown ? 'its hunks are not loaded' : null),
    risk: detail.risk,
    files: detail.files.map(({ path }) => {
      const tier = review.tierOf(path)
      return { isViewed: review.looks.isViewed(path), isLarge: tier !== 'normal', isHuge: tier === 'huge' }
    }),
    riskyHunksLeft: review.riskyLeft,
    rejectedHunks: review.rejected,
    isEdited: Object.keys(draft.edits).length > 0,
    comments: draft.comments.length,
    overridesLeft: detail.unresolved.filter((check) => (draft.overrides[check] ?? '').trim() === '').length,
    reason: draft.reason,
  })
  const untilMs = arming.kind === 'waiting' ? arming.untilMs : null
  useEffect(() => {
    if (untilMs === null) return
    const timer = setTimeout(() => wake((n) => n + 1), untilMs)
    return () => clearTimeout(timer)
  }, [untilMs])
  return arming
}
