import { type ReactNode, useState } from 'react'
import { useNow } from '../../lib/clock.ts'
import { contractNotice } from '../../lib/contract.ts'
import { useConnectionState, useStatus } from '../../lib/desk.tsx'
import { absoluteTime } from '../../lib/format.ts'
import { invoke, isTyping, showChord, useKeys } from '../../lib/keys.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { go, hrefOf, type Route } from '../../lib/route.ts'
import { Skeleton } from '../states.tsx'
import { KeySheet } from './key-sheet.tsx'
import { Notices } from './notices.tsx'
import { Palette } from './palette.tsx'
import { Recovered } from './recovered.tsx'
import { ScreenBoundary } from './screen-boundary.tsx'
import { parentOf, screens, settingsScreen } from './screens.ts'
import './shell.css'
import { StatusStrip } from './status-strip.tsx'
import { usePausing } from './use-pausing.ts'
import { usePlace } from './use-place.ts'

/** Rail, screen and status strip. What is common to all screens, and nothing of any one of them. */
export function Shell({ route, children }: { route: Route; children: ReactNode }) {
  const [open, setOpen] = useState<'sheet' | 'palette' | null>(null)
  const status = useStatus()
  const connection = useConnectionState()
  const pausing = usePausing()
  const isPlaced = usePlace()
  const { problem } = usePreferences()
  useKeys(
    {
      ...Object.fromEntries([...screens, settingsScreen].map(({ route: to, chord }) => [chord, () => go(to)])),
      '?': () => setOpen('sheet'),
      'Mod+k': () => setOpen('palette'),
      // Where the screen has no filter, the browser finds.
      'Mod+f': () => invoke('/'),
      'Mod+Shift+f': () => {
        go({ screen: 'history' })
        // Its keys are there with the screen.
        requestAnimationFrame(() => requestAnimationFrame(() => invoke('/')))
      },
      'Mod+Shift+.': pausing.pauseAll,
      escape: (event) => {
        const parent = parentOf(route)
        if (isTyping(event.target)) (event.target as HTMLElement).blur()
        else if (parent !== null) go(parent)
      },
    },
    true,
    false,
    true,
  )
  const decisions = status.data?.decisions ?? 0
  return (
    <div className="shell" data-lost={connection.status === 'lost' || undefined}>
      <div className="shell-top">
        {connection.status === 'lost' && connection.lostAt !== null && <Lost at={connection.lostAt} />}
        <Notices notices={[...contractNotice(status.data?.contract), ...(status.data?.notices ?? [])]} />
        {status.data?.recovered && <Recovered recovered={status.data.recovered} />}
        {pausing.said && (
          <p className="shell-said" data-testid="pausing-said">
            <span role={pausing.said.isError ? 'alert' : 'status'} className={pausing.said.isError ? 'tone-bad' : ''}>
              {pausing.said.isError ? '✗' : '‖'} {pausing.said.text}
            </span>
            {pausing.said.canResume && (
              <button type="button" className="button" onClick={pausing.resumeAll} disabled={pausing.isBusy}>
                Resume all
              </button>
            )}
            <button type="button" className="button quiet" onClick={pausing.clear} aria-label="Clear this message">
              ✕
            </button>
          </p>
        )}
        {problem !== null && route.screen !== 'settings' && (
          <p className="shell-said" role="alert">
            <span className="tone-wait">▲ {problem}</span>
          </p>
        )}
      </div>
      <nav className="rail" aria-label="Screens">
        {[...screens, settingsScreen].map(({ route: to, name, icon, chord }) => (
          <a
            key={name}
            href={hrefOf(to)}
            className={name === 'Settings' ? 'rail-entry rail-last' : 'rail-entry'}
            aria-current={route.screen === to.screen ? 'page' : undefined}
            title={`${name}  ${showChord(chord)}`}
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
      </nav>
      <main className="screen">
        <ScreenBoundary place={hrefOf(route)}>{isPlaced ? children : <Skeleton rows={8} />}</ScreenBoundary>
      </main>
      <StatusStrip pausing={pausing} onSheet={() => setOpen('sheet')} onPalette={() => setOpen('palette')} />
      {open === 'sheet' && <KeySheet onClose={() => setOpen(null)} />}
      {open === 'palette' && (
        <Palette route={route} pausing={pausing} onClose={() => setOpen(null)} onSheet={() => setOpen('sheet')} />
      )}
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
