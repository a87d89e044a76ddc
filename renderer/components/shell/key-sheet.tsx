import { Fragment } from 'react'
import { printChord } from '../../lib/keys.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { hrefOf } from '../../lib/route.ts'
import { boundTo, scopes, shortcuts } from '../../lib/shortcuts.ts'
import { Dialog } from '../dialog.tsx'

/** How one leaves and confirms: the same everywhere, and kept. */
const fixed: [chord: string, what: string][] = [
  ['escape', 'Back; in a field: leave it'],
  ['enter', 'Open the marked item'],
]

/** Bare letters only move or mark. Whatever changes the agent or spends money has a modifier. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const { keys, bareKeys } = usePreferences().preferences
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <p className="muted key-sheet-note">
        Any of them can be given another key in{' '}
        <a href={hrefOf({ screen: 'settings', section: 'shortcuts' })}>Settings</a>.
        {!bareKeys && ' Keys without a modifier are turned off.'}
      </p>
      {scopes.map((scope) => {
        const own = shortcuts.filter((each) => each.scope === scope)
        if (own.length === 0) return null
        return (
          <section key={scope} aria-label={scope}>
            <h2>{scope}</h2>
            <dl className="key-sheet">
              {scope === 'Everywhere' && fixed.map(([chord, what]) => <Row key={chord} chord={chord} what={what} />)}
              {own.map((each) => (
                <Row key={each.id} chord={boundTo(each, keys)} what={each.text} />
              ))}
            </dl>
          </section>
        )
      })}
    </Dialog>
  )
}

function Row({ chord, what }: { chord: string; what: string }) {
  return (
    <Fragment>
      <dt>{printChord(chord)}</dt>
      <dd>{what}</dd>
    </Fragment>
  )
}
