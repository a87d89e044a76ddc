import type { EventRow } from '../../../kernel/wire/operator.ts'
import type { EventMarks } from '../../../kernel/wire/operator-events.ts'
import { InertText } from '../../components/inert-text.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { lineOf } from '../../lib/event-line.ts'

export const rowHeight = 28

interface Props {
  seq: number | null
  /** Undefined: on its way. */
  event: EventRow | undefined
  marks: EventMarks | undefined
  top: number
  isOpen: boolean
  onOpen: (seq: number) => void
}

export function EventRowView({ seq, event, marks, top, isOpen, onOpen }: Props) {
  const style = { transform: `translateY(${top}px)` }
  if (event === undefined)
    return (
      <div className="history-row" style={style} aria-busy="true">
        <span className="figure muted">{seq}</span>
      </div>
    )
  const line = lineOf(event)
  return (
    <button
      type="button"
      className="history-row"
      data-testid="history-row"
      style={style}
      aria-expanded={isOpen}
      onClick={() => onOpen(event.seq)}
    >
      <span className="figure muted">{event.seq}</span>
      <TimeAgo at={event.at} className="muted" />
      <span className="muted history-subject" title={event.agent ?? undefined}>
        {event.task ?? event.agent ?? ''}
      </span>
      <span className={`tone-${line.tone} history-kind`}>
        <span aria-hidden="true">{line.icon}</span> {event.kind}
      </span>
      <span className="history-line">
        {marks?.labels.map((label) => (
          <span key={label} className="history-label">
            {label}
          </span>
        ))}
        {marks !== undefined && marks.notes.length > 0 && <span title="You have a note on it">✎ </span>}
        <InertText text={[line.word, line.text].filter(Boolean).join(' · ')} />
      </span>
      <span className="figure muted history-figures">
        {[...line.figures, isSimulated(event) ? 'simulated' : ''].filter(Boolean).join('  ')}
      </span>
    </button>
  )
}

/** The figures of a call to the offline model are not a bill. */
export function isSimulated({ kind, data }: EventRow): boolean {
  return kind === 'model.called' && data.simulated === true
}
