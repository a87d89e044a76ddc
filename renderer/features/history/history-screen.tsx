import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useState } from 'react'
import { parseQuery } from '../../../kernel/wire/operator-query.ts'
import { errorText } from '../../components/states.tsx'
import { useDesk, useStatus } from '../../lib/desk.tsx'
import { useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { EventList } from './event-list.tsx'
import { ExportDialog } from './export-dialog.tsx'
import { Facets } from './facets.tsx'
import { Inspector } from './inspector.tsx'
import { Integrity } from './integrity.tsx'
import { QueryBar } from './query-bar.tsx'
import { TaskTree } from './task-tree.tsx'
import './history.css'

/** Every event of the one log: as a list, newest first, or by task, turn and step with their time. */
export function HistoryScreen({ seq, query: linkedQuery }: { seq?: number | undefined; query: string }) {
  const desk = useDesk()
  const [text, setText] = useState(linkedQuery)
  const [view, setView] = useState<'list' | 'tree'>('list')
  const [open, setOpen] = useState<number | null>(seq ?? null)
  const [hasFacets, setFacets] = useState(() => window.innerWidth >= 1200)
  const [isExporting, setExporting] = useState(false)
  useEffect(() => setOpen(seq ?? null), [seq])
  useEffect(() => setText(linkedQuery), [linkedQuery])
  const typed = useDeferredValue(text.trim())
  const { problems } = parseQuery(typed)
  // While what is typed is not yet a query, the last one that was stays.
  const [query, setQuery] = useState(problems.length === 0 ? typed : '')
  useEffect(() => {
    if (problems.length === 0) setQuery(typed)
  }, [typed, problems.length])
  // The address is that of what is shown, so that it can be copied; the way back does not lead through each letter.
  useEffect(() => {
    const next = hrefOf({ screen: 'history', ...(open === null ? {} : { seq: open }), query })
    if (location.hash !== next) history.replaceState(null, '', next)
  }, [open, query])
  useKeys({
    t: () => setView((before) => (before === 'list' ? 'tree' : 'list')),
    f: () => setFacets((before) => !before),
  })
  const facets = useQuery({
    queryKey: ['history-facets', query],
    queryFn: () => desk.events.facets({ query }),
    enabled: view === 'list',
    placeholderData: (before) => before,
    gcTime: 0,
  })
  const lastSeq = useStatus().data?.lastSeq
  const task = parseQuery(query).query.task

  return (
    <div className="history">
      <header className="history-bar">
        <h1>History</h1>
        <QueryBar text={text} onText={setText} problems={parseQuery(text).problems} />
        <fieldset className="history-views" aria-label="View">
          {(['list', 'tree'] as const).map((name) => (
            <button
              key={name}
              type="button"
              className="button"
              aria-pressed={view === name}
              onClick={() => setView(name)}
            >
              {name === 'list' ? 'Newest first' : 'By task'}
            </button>
          ))}
        </fieldset>
        <button type="button" className="button" onClick={() => setExporting(true)} data-testid="export">
          Export…
        </button>
        <Integrity />
      </header>
      <div className="history-body">
        {view === 'list' && hasFacets && (
          <Facets text={text} facets={facets.data} onText={setText} isEmpty={lastSeq === 0} />
        )}
        {view === 'list' ? (
          <EventList
            key={query}
            query={query}
            facets={facets.data}
            open={open}
            onOpen={setOpen}
            onText={setText}
            hasFacets={hasFacets}
            onFacets={() => setFacets((before) => !before)}
          />
        ) : (
          <TaskTree open={open} onOpen={setOpen} only={task} />
        )}
        {open !== null && (
          <Inspector key={open} seq={open} query={query} onClose={() => setOpen(null)} onText={setText} />
        )}
      </div>
      {facets.error && view === 'list' && (
        <p className="history-problem tone-bad" role="alert">
          ✗ Counts: {errorText(facets.error)}
        </p>
      )}
      {isExporting && <ExportDialog task={task} onClose={() => setExporting(false)} />}
    </div>
  )
}
