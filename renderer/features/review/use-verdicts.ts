import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { go } from '../../lib/route.ts'
import type { Draft } from './draft.ts'
import { keptOf, keyOf } from './hunks.ts'
import { rememberReceipt } from './receipt.tsx'
import type { Review } from './use-review.ts'
import type { View } from './use-view.ts'

export type Verb = 'approve' | 'reject' | 'return' | 'defer' | 'part' | 'edit'
const pastOf = { approve: 'approved', reject: 'rejected', return: 'returned' } as const

interface Parts {
  detail: ProposalDetail
  view: View
  review: Review
  openMs: () => number
}

/** Sends verdicts, each bound to the view that it was made in. A refused one leaves every mark and word where it is. */
export function useVerdicts({ detail, view, review, openMs }: Parts) {
  const desk = useDesk()
  const { agent, proposal } = detail
  const [said, setSaid] = useState<string | null>(null)
  const send = useMutation({
    mutationFn: async ({ verb, until }: { verb: Verb; until?: number }) => {
      const shown = view.data
      if (!shown) throw new Error('The kernel has not issued this view yet.')
      const { draft } = review
      const bound = { agent, proposal, nonce: shown.nonce, binding: shown.binding }
      const reason = draft.reason.trim()
      if (verb === 'defer') return { verb, ...(await desk.proposals.defer({ ...bound, reason, until: until ?? null })) }
      if (verb === 'part' || verb === 'edit')
        return { verb, ...(await desk.proposals.derive({ ...bound, reason, ...partsOf(review, draft) })) }
      if (verb === 'return')
        return { verb, ...(await desk.proposals.return({ ...bound, reason, comments: draft.comments })) }
      if (verb === 'reject') {
        const category = draft.category === null ? {} : { category: draft.category }
        return { verb, ...(await desk.proposals.reject({ ...bound, reason, ...category })) }
      }
      const overrides = detail.unresolved.map((check) => ({ check, reason: (draft.overrides[check] ?? '').trim() }))
      const looked = { openMs: openMs(), files: review.looks.viewed, of: detail.files.length }
      const extras = { onBreach: draft.onBreach, looked, ...(overrides.length > 0 ? { overrides } : {}) }
      return { verb, ...(await desk.proposals.approve({ ...bound, ...extras, ...(reason ? { reason } : {}) })) }
    },
    onMutate: () => setSaid(null),
    onSuccess: (result, { until }) => {
      if (result.verb === 'defer') {
        setSaid(
          `Deferred${until === undefined ? '' : ` until ${new Date(until).toLocaleString()}`}: event ${result.seq}.`,
        )
        review.change({ reason: '' })
      } else if ('revision' in result) {
        review.drop()
        go({ screen: 'review', agent, proposal: result.proposal })
      } else {
        const verdict = pastOf[result.verb as keyof typeof pastOf]
        const { seq, state, before, after } = result
        rememberReceipt(agent, proposal, {
          seq,
          state: state as ProposalDetail['state'],
          before,
          after,
          verdict,
          at: Date.now(),
        })
        review.drop()
      }
    },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['proposals'] })
      void queryClient.invalidateQueries({ queryKey: ['view'] })
    },
  })
  return { send, said }
}

/** What a derived revision is made of: hunks that stay, the operator's texts, and why each other hunk falls. */
function partsOf(review: Review, draft: Draft) {
  const fallen = review.places
    .filter((place) => review.markOf(place) === 'rejected')
    .map(({ path, hunk }) => ({ path, hunk: hunk.id, reason: (draft.fallen[keyOf(path, hunk.id)] ?? '').trim() }))
  const edits = Object.entries(draft.edits).map(([path, text]) => ({ path, text }))
  return {
    ...(fallen.length > 0 ? { keep: keptOf(review.hunks.data ?? [], draft.marks), fallen } : {}),
    ...(edits.length > 0 ? { edits } : {}),
  }
}
