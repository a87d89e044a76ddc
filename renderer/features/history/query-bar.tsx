import { useId, useRef, useState } from 'react'
import type { QueryProblem } from '../../../kernel/wire/operator-query.ts'
import { useKeys } from '../../lib/keys.ts'
import { usePreference } from '../settings/use-preference.ts'

interface Props {
  text: string
  onText: (text: string) => void
  problems: readonly QueryProblem[]
}

/** What is looked for, what is wrong with it and where, and the queries that are kept under a name. */
export function QueryBar({ text, onText, problems }: Props) {
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  useKeys({ '/': () => field.current?.focus(), 'Mod+f': () => field.current?.focus() })
  const [problem] = problems
  return (
    <div className="history-query">
      <input
        ref={field}
        className="field"
        value={text}
        maxLength={1000}
        spellCheck={false}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') field.current?.blur()
        }}
        aria-label="Query"
        aria-describedby={`${id}-said`}
        aria-invalid={problem !== undefined}
        data-testid="query"
        placeholder={'tool:shell  rev:r4  cost>0.05  kind:proposal  status:error  "text"'}
      />
      {text !== '' && (
        <button type="button" className="button quiet" onClick={() => onText('')} aria-label="Clear the query">
          ✕
        </button>
      )}
      <button type="button" className="button" aria-expanded={isOpen} onClick={() => setOpen((before) => !before)}>
        Filters
      </button>
      {isOpen && <SavedFilters text={text} onText={onText} onClose={() => setOpen(false)} />}
      <p id={`${id}-said`} className={problem ? 'history-problem tone-bad' : 'sr'} role="status">
        {problem && (
          <>
            ✗{' '}
            {text.slice(problem.at, problem.at + problem.length) && (
              <mark>{text.slice(problem.at, problem.at + problem.length)}</mark>
            )}{' '}
            {problem.message}
          </>
        )}
      </p>
    </div>
  )
}

const delivered = [
  { name: 'What failed', query: 'status:error' },
  { name: 'Proposals and revisions', query: 'kind:proposal kind:revision' },
  { name: 'Calls above 5 cents', query: 'cost>0.05' },
  { name: 'What you did', query: 'actor:operator' },
  { name: 'What you marked', query: 'is:noted' },
]

function SavedFilters({
  text,
  onText,
  onClose,
}: {
  text: string
  onText: (text: string) => void
  onClose: () => void
}) {
  const { value: saved, set } = usePreference('filters')
  const [name, setName] = useState('')
  useKeys({ escape: onClose })
  const query = text.trim()
  const take = (chosen: string) => {
    onText(chosen)
    onClose()
  }
  return (
    <div className="history-filters panel" role="dialog" aria-label="Filters">
      {[...saved, ...delivered].map((filter, index) => (
        <p key={filter.name}>
          <button type="button" className="history-filter" onClick={() => take(filter.query)}>
            <span>{filter.name}</span>
            <code className="muted">{filter.query}</code>
          </button>
          {index < saved.length && (
            <button
              type="button"
              className="button quiet"
              aria-label={`Forget the filter ${filter.name}`}
              onClick={() => set(saved.filter((each) => each.name !== filter.name))}
            >
              ✕
            </button>
          )}
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (name.trim() === '' || query === '') return
          set([...saved.filter((each) => each.name !== name.trim()), { name: name.trim(), query }])
          setName('')
        }}
      >
        <input
          className="field"
          value={name}
          maxLength={60}
          onChange={(event) => setName(event.target.value)}
          aria-label="Name for this query"
          placeholder={query === '' ? 'Write a query to keep it' : 'Name for this query'}
          disabled={query === ''}
        />
        <button type="submit" className="button" disabled={query === '' || name.trim() === ''}>
          Keep
        </button>
      </form>
    </div>
  )
}
