import { InertText } from '../../components/inert-text.tsx'
import { many } from '../../lib/arming.ts'
import { isRisky } from './file-order.ts'
import { keyOf } from './hunks.ts'
import type { Review } from './use-review.ts'

interface Props {
  review: Review
  isOpen: boolean
  onComment: () => void
}

/** Where one is among the hunks, and the marks. Marks decide nothing by themselves. */
export function HunkBar({ review, isOpen, onComment }: Props) {
  const { current, here, draft, path } = review
  const { data, error, isPending } = review.hunks
  const own = data?.find((file) => file.path === path)
  const isEdited = path !== null && draft.edits[path] !== undefined
  return (
    <section className="hunk-bar" data-testid="hunk-bar" aria-label="Hunk">
      {current ? (
        <>
          <strong className="figure">
            hunk {here.indexOf(current) + 1}/{here.length}
          </strong>
          {isRisky(current.hunk.risk) && <span className="chip risk-HIGH">▲ {current.hunk.risk}</span>}
          <Verdict review={review} isOpen={isOpen && !isEdited} />
          <button type="button" className="button small" disabled={!isOpen} onClick={onComment}>
            Comment <kbd>C</kbd>
          </button>
          <span className="muted hunk-what">
            {isEdited ? 'this file carries your edit: its hunks are not marked one by one' : <What review={review} />}
          </span>
        </>
      ) : error ? (
        <span className="tone-bad">
          ✗ The hunks could not be loaded, so none can be marked: {String(error.message)}
        </span>
      ) : (
        <span className="muted">{isPending ? 'hunks…' : 'no hunk in this file'}</span>
      )}
      {own?.isCompared === false && (
        <span className="tone-wait">▲ too much changed to compare in time: the file is one hunk</span>
      )}
      <span className="hunk-note tone-wait" role="status" data-testid="review-note">
        {review.note}
      </span>
    </section>
  )
}

function Verdict({ review, isOpen }: { review: Review; isOpen: boolean }) {
  const { current, mark, markOf, draft, change } = review
  if (!current) return null
  const marked = markOf(current)
  const key = keyOf(current.path, current.hunk.id)
  return (
    <>
      <button
        type="button"
        className="button small"
        data-testid="hunk-accept"
        aria-pressed={marked === 'accepted'}
        disabled={!isOpen}
        onClick={() => mark('accepted')}
      >
        {marked === 'accepted' ? '✓ kept' : 'Keep'} <kbd>A</kbd>
      </button>
      <button
        type="button"
        className="button small"
        data-testid="hunk-reject"
        aria-pressed={marked === 'rejected'}
        disabled={!isOpen}
        onClick={() => mark('rejected')}
      >
        {marked === 'rejected' ? '✗ left out' : 'Leave out'} <kbd>X</kbd>
      </button>
      {marked === 'rejected' && (
        <input
          className="field small hunk-why"
          aria-label="Why this hunk is left out, for the agent"
          placeholder="Why, for the agent"
          maxLength={1000}
          value={draft.fallen[key] ?? ''}
          onChange={(event) => change(({ fallen }) => ({ fallen: { ...fallen, [key]: event.target.value } }))}
        />
      )}
    </>
  )
}

function What({ review }: { review: Review }) {
  const { current } = review
  if (!current) return null
  const { beforeLines, afterLines, reasons } = current.hunk
  const shown = review.seenOf(current)
  return (
    <>
      +{afterLines} −{beforeLines}
      {!shown.isWhole &&
        review.tierOf(current.path) !== 'normal' &&
        ` · ${shown.lines} of ${many(shown.of, 'line')} seen`}
      {reasons.length > 0 && (
        <>
          {' · '}
          <InertText text={reasons.join(' · ')} />
        </>
      )}
    </>
  )
}
