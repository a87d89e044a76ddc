import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import { isMac, printChord, useKeys } from '../../lib/keys.ts'
import { go, type Route } from '../../lib/route.ts'
import { InertText } from '../inert-text.tsx'
import './palette.css'
import { type Entry, eventOf, find } from './palette-entries.ts'
import { useEntries } from './use-entries.ts'
import type { Pausing } from './use-pausing.ts'

interface Props {
  route: Route
  pausing: Pausing
  onClose: () => void
  onSheet: () => void
}

/** Goes to anything, by keys alone. What spends money or changes the agent is not done by Enter alone. */
export function Palette({ route, pausing, onClose, onSheet }: Props) {
  const [query, setQuery] = useState('')
  const [marked, setMarked] = useState(0)
  const [said, setSaid] = useState('')
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  useKeys({ escape: onClose, 'Mod+k': onClose }, true, true)
  const { entries, isLoading } = useEntries(route, { pausing, onSheet })
  const { shown, count } = useMemo(() => {
    const seq = eventOf(query)
    const found = find(entries, query)
    if (seq === null) return found
    const event: Entry = {
      ...{ id: 'event', kind: 'Event', name: `Event ${seq}`, hint: 'in History' },
      run: () => go({ screen: 'history', seq }),
    }
    return { shown: [event, ...found.shown], count: found.count + 1 }
  }, [entries, query])
  const at = Math.min(marked, shown.length - 1)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark moves the list.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at, shown])

  const choose = (entry: Entry | undefined, hasModifier: boolean) => {
    if (!entry) return
    if (entry.needsModifier && !hasModifier) {
      setSaid(`${entry.name} takes ${printChord('Mod+enter')}: Enter alone must not do it by accident.`)
      return
    }
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const to = moved(event.key, at, shown.length)
    if (to !== null) {
      event.preventDefault()
      setMarked(to)
      setSaid('')
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(shown[at], isMac ? event.metaKey : event.ctrlKey)
    }
  }
  return (
    <dialog ref={dialog} className="dialog palette" aria-label="Go to" onClose={onClose}>
      <input
        className="palette-field"
        autoFocus
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-describedby={`${id}-said`}
        placeholder="Screen, task, proposal, revision, setting, action, event number"
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setMarked(0)
          setSaid('')
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={`${id}-list`} className="palette-list" role="listbox" aria-label="Matches">
        {shown.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the field's, as of a combobox.
          <div
            key={entry.id}
            id={`${id}-${index}`}
            className="palette-entry"
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={(event) => choose(entry, entry.needsModifier !== true || event.ctrlKey || event.metaKey)}
          >
            <span className="palette-kind">{entry.kind}</span>
            <span className="palette-name">
              <InertText text={entry.name} />
              {entry.hint && (
                <span className="palette-hint">
                  {' '}
                  <InertText text={entry.hint} />
                </span>
              )}
            </span>
            {entry.chord && <kbd className="kbd">{printChord(entry.chord)}</kbd>}
          </div>
        ))}
      </div>
      <p className="palette-foot" id={`${id}-said`} role="status">
        {said !== '' ? <span className="tone-wait">▲ {said}</span> : footOf(count, shown.length, isLoading)}
      </p>
    </dialog>
  )
}

function footOf(count: number, shown: number, isLoading: boolean): string {
  if (isLoading) return 'Loading tasks, proposals and revisions…'
  if (count === 0) return 'Nothing fits. An event is found by its number; its text, in History.'
  if (count > shown) return `The best ${shown} of ${count}: type more`
  return `${count} ${count === 1 ? 'match' : 'matches'}`
}

function moved(key: string, at: number, count: number): number | null {
  if (count === 0) return null
  if (key === 'ArrowDown') return (at + 1) % count
  if (key === 'ArrowUp') return (at - 1 + count) % count
  if (key === 'PageDown') return Math.min(at + 8, count - 1)
  if (key === 'PageUp') return Math.max(at - 8, 0)
  return null
}
