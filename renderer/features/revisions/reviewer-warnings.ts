import type { ReviewerHealth } from '../../../kernel/wire/operator-review.ts'

/** Below it nobody has read a line. */
const msPerLineRead = 200
const perHourMany = 20
const enough = 5

/** Plain sentences where the figures say that reviews are no longer reviews. */
export function warningsOf(health: ReviewerHealth): string[] {
  const approved = health.byVerdict.approved ?? 0
  const busiest = Math.max(0, ...health.perHour.map(({ decisions }) => decisions))
  const perLine = health.medianMsPerChangedLine
  const unread = health.approvedUnread.length
  const undone = health.laterRolledBack.length
  return [
    unread > 0 && `You approved ${unread} of ${approved} without opening a file.`,
    perLine !== null &&
      perLine < msPerLineRead &&
      health.decisions >= enough &&
      `Half of your decisions took less than ${Math.round(perLine)} ms a changed line: nobody reads that fast.`,
    busiest >= perHourMany &&
      `You made ${busiest} decisions in one hour. Fewer, or a rule for the small ones, would leave time to read.`,
    undone > 0 && `${undone} of ${approved} that you approved had to be rolled back.`,
    approved >= 2 * enough && approved === health.decisions && 'You have turned nothing down in this time.',
  ].filter((warning) => warning !== false)
}
