import { useEffect, useRef, useState } from 'react'
import { InertText } from '../../components/inert-text.tsx'
import type { Place } from './diff-view.tsx'
import type { Notes } from './use-review.ts'

interface Props {
  path: string
  place: Place
  review: Notes
  onClose: () => void
}

/** One comment on one line. The operator asked for it, so it takes the focus. */
export function CommentBox({ path, place, review, onClose }: Props) {
  const [text, setText] = useState('')
  const [line, setLine] = useState(place.line)
  const [side, setSide] = useState(place.side)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const add = () => {
    review.change(({ comments }) => ({ comments: [...comments, { path, side, line, text: text.trim() }] }))
    onClose()
  }
  return (
    <form
      className="comment-box"
      data-testid="comment-box"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') add()
      }}
    >
      <span>
        Comment on <InertText className="mono" text={path} /> line{' '}
        <input
          className="field small comment-line"
          type="number"
          min={1}
          aria-label="Line"
          value={line}
          onChange={(event) => setLine(Math.max(1, Math.trunc(event.target.valueAsNumber) || 1))}
        />{' '}
        <select
          className="field small"
          aria-label="Side"
          value={side}
          onChange={(event) => setSide(event.target.value === 'before' ? 'before' : 'after')}
        >
          <option value="after">after</option>
          <option value="before">before</option>
        </select>
      </span>
      <textarea
        ref={field}
        className="field"
        rows={2}
        maxLength={4000}
        aria-label="Comment"
        placeholder="What the agent should know of this line. Plain text."
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <span className="comment-actions">
        <button type="submit" className="button small" disabled={text.trim() === ''} data-testid="comment-add">
          Add comment
        </button>
        <button type="button" className="button small quiet" onClick={onClose}>
          Cancel
        </button>
      </span>
    </form>
  )
}

/** Every comment that a return will carry, each a way to its line. */
export function CommentList({ review, isOpen }: { review: Notes; isOpen: boolean }) {
  const { comments } = review.draft
  if (comments.length === 0) return null
  return (
    <section className="evidence-block" aria-label="Your comments" data-testid="comments">
      <h2>Your comments, not sent</h2>
      <ul>
        {comments.map((comment, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two comments may say the same of the same line.
          <li key={index} className="comment-row">
            <button
              type="button"
              className="link mono"
              onClick={() => review.open(comment.path, { side: comment.side, line: comment.line })}
            >
              <InertText text={`${comment.path}:${comment.line}`} /> {comment.side}
            </button>
            <InertText className="claim-text" text={comment.text} />
            <button
              type="button"
              className="button small quiet"
              disabled={!isOpen}
              aria-label={`Remove the comment on ${comment.path} line ${comment.line}`}
              onClick={() =>
                review.change((before) => ({ comments: before.comments.filter((_, other) => other !== index) }))
              }
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
