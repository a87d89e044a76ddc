import type { EventFacets } from '../../../kernel/wire/operator-events.ts'
import { parseQuery, quotedValue, toggledTerm } from '../../../kernel/wire/operator-query.ts'
import { InertText } from '../../components/inert-text.tsx'
import { whole } from '../../lib/format.ts'

interface Props {
  text: string
  facets: EventFacets | undefined
  onText: (text: string) => void
  isEmpty: boolean
}

/** What the hits are of, with counts; each narrows the query, and a second time takes it back. */
export function Facets({ text, facets, onText, isEmpty }: Props) {
  const groups: [title: string, field: string, rows: readonly (readonly [string, number])[]][] = [
    ['Kind', 'kind', facets?.kinds ?? []],
    ['Tool', 'tool', facets?.tools ?? []],
    ['Task', 'task', facets?.tasks ?? []],
    ['Agent', 'agent', facets?.agents ?? []],
    ['By', 'actor', facets?.actors ?? []],
    ['Status', 'status', facets !== undefined && facets.failed > 0 ? [['error', facets.failed]] : []],
  ]
  const { terms } = parseQuery(text)
  if (isEmpty) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
    <section className="history-facets" aria-label="What the events are of" tabIndex={0} data-testid="facets">
      <p className="muted" aria-live="polite">
        {facets === undefined
          ? 'Counting…'
          : facets.isCut
            ? `Of the newest ${whole(facets.count)}`
            : `${whole(facets.count)} ${facets.count === 1 ? 'event' : 'events'}`}
      </p>
      {groups.map(
        ([title, field, rows]) =>
          rows.length > 0 && (
            <section key={field}>
              <h3>{title}</h3>
              <ul>
                {rows.map(([value, count]) => {
                  const term = `${field}:${quotedValue(value)}`
                  return (
                    <li key={value}>
                      <button
                        type="button"
                        className="history-facet"
                        aria-pressed={terms.some((each) => each.text === term)}
                        onClick={() => onText(toggledTerm(text, term))}
                      >
                        <InertText text={value} />
                        <span className="figure muted">{whole(count)}</span>
                      </button>
                    </li>
                  )
                })}
              </ul>
            </section>
          ),
      )}
    </section>
  )
}
