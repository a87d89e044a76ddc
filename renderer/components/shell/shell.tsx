import { type ReactNode, useState } from 'react'
import { useNow } from '../../lib/clock.ts'
import { contractNotice } from '../../lib/contract.ts'
import { useConnectionState, useDesk, useStatus } from '../../lib/desk.tsx'
import { absoluteTime } from '../../lib/format.ts'
import { isTyping, showChord, useKeys } from '../../lib/keys.ts'
import { go, hrefOf, type Route } from '../../lib/route.ts'
import { KeySheet } from './key-sheet.tsx'
import { Notices } from './notices.tsx'
import './shell.css'
import { StatusStrip } from './status-strip.tsx'

const screens: { route: Route; name: string; icon: string }[] = [
  { route: { screen: 'home' }, name: 'Home', icon: '⌂' },
  { route: { screen: 'live', task: null }, name: 'Live', icon: '●' },
  { route: { screen: 'review', agent: null, proposal: null }, name: 'Review', icon: '⚑' },
  { route: { screen: 'history' }, name: 'History', icon: '☰' },
  { route: { screen: 'revisions', agent: null }, name: 'Revisions', icon: '◆' },
  { route: { screen: 'tools', agent: null, tool: null }, name: 'Tools', icon: '⚒' },
]

/** Rail, screen and status strip. What is common to all screens, and nothing of any one of them. */
export function Shell({ route, children }: { route: Route; children: ReactNode }) {
  const [isSheetOpen, setSheetOpen] = useState(false)
  const status = useStatus()
  const desk = useDesk()
  const connection = useConnectionState()
  const digits = Object.fromEntries(screens.map(({ route: to }, index) => [`Mod+${index + 1}`, () => go(to)]))
  useKeys({
    ...digits,
    '?': () => setSheetOpen(true),
    'Mod+Shift+.': () => void desk.host.pauseAll(),
    escape: (event) => {
      if (isTyping(event.target)) (event.target as HTMLElement).blur()
      else if (isSheetOpen) setSheetOpen(false)
      else if (hasParent(route)) go(parentOf(route))
    },
  })
  const decisions = status.data?.decisions ?? 0
  return (
    <div className="shell" data-lost={connection.status === 'lost' || undefined}>
      <div className="shell-top">
        {connection.status === 'lost' && connection.lostAt !== null && <Lost at={connection.lostAt} />}
        <Notices notices={[...contractNotice(status.data?.contract), ...(status.data?.notices ?? [])]} />
      </div>
      <nav className="rail" aria-label="Screens">
        {screens.map(({ route: to, name, icon }, index) => (
          <a
            key={name}
            href={hrefOf(to)}
            className="rail-entry"
            aria-current={route.screen === to.screen ? 'page' : undefined}
            title={`${name}  ${showChord(`Mod+${index + 1}`)}`}
          >
            <span className="rail-icon" aria-hidden="true">
              {icon}
            </span>
            {name}
            {name === 'Review' && decisions > 0 && (
              <span className="rail-count">
                {decisions}
                <span className="sr"> waiting for your verdict</span>
              </span>
            )}
          </a>
        ))}
        <button
          type="button"
          className="rail-entry rail-last"
          onClick={() => setSheetOpen(true)}
          title="Keyboard shortcuts  ?"
        >
          <span className="rail-icon" aria-hidden="true">
            ?
          </span>
          Shortcuts
        </button>
      </nav>
      <main className="screen">{children}</main>
      <StatusStrip />
      {isSheetOpen && <KeySheet onClose={() => setSheetOpen(false)} />}
    </div>
  )
}

/** A host that stays away for longer than a restart takes will not come back by itself. */
const lostAfterMs = 4000

function Lost({ at }: { at: number }) {
  const now = useNow()
  if (now - at < lostAfterMs) return null
  return (
    <p className="shell-lost" role="alert" data-testid="host-lost">
      <strong className="tone-wait">▲ The host does not answer.</strong>{' '}
      {window.exodesk ? (
        'If this stays, quit Exodesk and open it again.'
      ) : (
        <>
          If you stopped it, run <code>npm start</code> again and open the new link.
        </>
      )}{' '}
      <span className="muted">What you see is as of {absoluteTime(at)}.</span>
    </p>
  )
}

function hasParent(route: Route): boolean {
  return (route.screen === 'live' && route.task !== null) || (route.screen === 'review' && route.proposal !== null)
}

function parentOf(route: Route): Route {
  return route.screen === 'review' ? { screen: 'review', agent: null, proposal: null } : { screen: 'home' }
}
