import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { queryClient, useDesk } from '../../lib/desk.tsx'
import { useMarks } from './use-marks.ts'

/** The operator's notes and labels on one event. They are added to history; the event stays as it is, and no agent reads them. */
export function MarksPanel({ seq, onText }: { seq: number; onText: (text: string) => void }) {
  const desk = useDesk()
  const all = useMarks()
  const marks = all.get(seq)
  const [text, setText] = useState('')
  const [name, setName] = useState('')
  const settled = { onSettled: () => void queryClient.invalidateQueries({ queryKey: ['marks'] }) }
  const note = useMutation({
    mutationFn: () => desk.events.note({ seq, text: text.trim() }),
    onSuccess: () => setText(''),
    ...settled,
  })
  const label = useMutation({
    mutationFn: ({ of, isSet }: { of: string; isSet: boolean }) => desk.events.label({ seq, label: of, isSet }),
    onSuccess: () => setName(''),
    ...settled,
  })
  const known = [...new Set([...all.values()].flatMap(({ labels }) => labels))].sort()
  const error = note.error ?? label.error
  return (
    <section className="history-marks" data-testid="marks">
      <h3>Your labels and notes</h3>
      <div className="history-labels">
        {marks?.labels.map((each) => (
          <span key={each} className="history-label">
            <button type="button" className="link" onClick={() => onText(`label:${each}`)} title={`Find label:${each}`}>
              {each}
            </button>
            <button
              type="button"
              onClick={() => label.mutate({ of: each, isSet: false })}
              aria-label={`Take the label ${each} off`}
            >
              ✕
            </button>
          </span>
        ))}
        <form
          className="history-mark-form"
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim() !== '') label.mutate({ of: name.trim().toLowerCase(), isSet: true })
          }}
        >
          <input
            className="field"
            list="history-labels"
            value={name}
            maxLength={32}
            onChange={(event) => setName(event.target.value)}
            aria-label="A label for this event"
            placeholder="label"
          />
          <datalist id="history-labels">
            {known.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <button type="submit" className="button" disabled={name.trim() === '' || label.isPending}>
            Label
          </button>
        </form>
      </div>
      {marks?.notes.map((each) => (
        <p key={each.seq} className="history-note">
          {each.text} <TimeAgo at={each.at} className="muted" />
        </p>
      ))}
      <form
        className="history-mark-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') note.mutate()
        }}
      >
        <input
          className="field"
          value={text}
          maxLength={4000}
          onChange={(event) => setText(event.target.value)}
          aria-label="A note on this event"
          placeholder="A note, which no agent reads"
        />
        <button type="submit" className="button" disabled={text.trim() === '' || note.isPending}>
          Add
        </button>
      </form>
      {error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(error)}
        </p>
      )}
    </section>
  )
}
