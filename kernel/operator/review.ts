import type { Guardian } from '../guardian/guardian.ts'
import type { ProfileChange } from '../wire/operator-review.ts'

type Given<K extends 'approve' | 'reject' | 'sendBack' | 'defer'> = Parameters<Guardian[K]>[0]

/**
 * Verdicts as the operator gives them, with what a person typed on its way to the agent and into history.
 * @param typed masks keys in it.
 */
export function createReviewDesk(guardian: Guardian, typed: (text: string, what: string) => string) {
  const reason = (text: string) => typed(text, 'your reason')
  return {
    approve: ({ overrides, ...input }: Omit<Given<'approve'>, 'reason'> & { reason?: string }) =>
      guardian.approve({
        ...input,
        reason: reason(input.reason ?? ''),
        ...(overrides === undefined
          ? {}
          : { overrides: overrides.map((one) => ({ check: one.check, reason: reason(one.reason) })) }),
      }),
    reject: (input: Given<'reject'>) => guardian.reject({ ...input, reason: reason(input.reason) }),
    return: (input: Given<'sendBack'>) =>
      guardian.sendBack({
        ...input,
        reason: reason(input.reason),
        comments: input.comments.map((one) => ({ ...one, text: typed(one.text, 'your comment') })),
      }),
    defer: (input: Given<'defer'>) => guardian.defer({ ...input, reason: reason(input.reason) }),
    derive: ({ fallen, ...input }: Parameters<Guardian['derive']>[0]) =>
      guardian.derive({
        ...input,
        reason: reason(input.reason),
        ...(fallen === undefined ? {} : { fallen: fallen.map((one) => ({ ...one, reason: reason(one.reason) })) }),
      }),
    setProfile: (input: ProfileChange) => guardian.setProfile({ ...input, reason: reason(input.reason) }),
    revokeRule: (rule: string, why: string) => guardian.rules.revoke(rule, reason(why)),
  }
}
