import { useQuery } from '@tanstack/react-query'
import { useAgents, useConnectionState, useDayBudget, useDesk, useStatus } from '../../lib/desk.tsx'
import { share, today } from '../../lib/format.ts'
import { showChord } from '../../lib/keys.ts'
import { hrefOf, type Route } from '../../lib/route.ts'
import { TimeAgo } from '../time.tsx'
import { Verified } from '../verified.tsx'
import type { Pausing } from './use-pausing.ts'

interface Props {
  pausing: Pausing
  onSheet: () => void
  onPalette: () => void
}

const costs: Route = { screen: 'cost', scope: null }
const settings = (section: string): string => hrefOf({ screen: 'settings', section })

/** Always there: what is active, what runs, what waits, what it cost today, and whether the kernel is well. Each leads to it. */
export function StatusStrip({ pausing, onSheet, onPalette }: Props) {
  const status = useStatus().data
  const agents = useAgents().data
  const day = useDayBudget().data
  const connection = useConnectionState()
  return (
    <footer className="strip" data-testid="status-strip">
      {connection.status === 'lost' && connection.lostAt !== null && (
        <span role="status">
          <a href={settings('diagnostics')} className="tone-wait">
            ⟳ disconnected: as of <TimeAgo at={connection.lostAt} />
          </a>
        </span>
      )}
      {connection.status === 'connecting' && <span className="muted">◐ connecting</span>}
      {status && (
        <>
          <ActiveRevision agents={agents ?? []} />
          <a href={hrefOf({ screen: 'home' })}>{status.running} running</a>
          {status.trials > 0 && (
            <a href={hrefOf({ screen: 'review', agent: null, proposal: null })}>
              {status.trials} {status.trials === 1 ? 'trial' : 'trials'}
            </a>
          )}
          <a
            href={hrefOf({ screen: 'review', agent: null, proposal: null })}
            className={status.decisions > 0 ? 'tone-wait' : undefined}
          >
            {status.decisions > 0 && '▲ '}
            {status.decisions} {status.decisions === 1 ? 'decision' : 'decisions'}
          </a>
          <a href={hrefOf(costs)}>
            {today(status.todayNanoUsd, day)}
            {status.todaySimulated && ' (simulated)'}
          </a>
          <a href={hrefOf(costs)}>cached {share(status.cachedShare)}</a>
          <a href={settings('sandbox')} className={status.sandbox.available ? undefined : 'tone-bad'}>
            {status.sandbox.available ? `✓ sandbox ${status.sandbox.provider}` : '✗ no sandbox'}
          </a>
          <a href={hrefOf({ screen: 'history' })}>
            <Verified subject="log" verified={status.verified} lastSeq={status.lastSeq} />
          </a>
          {status.unattended && (
            <a href={hrefOf({ screen: 'home' })} className="tone-wait">
              ▲ unattended: proposals are approved by a flag
            </a>
          )}
        </>
      )}
      <span className="strip-last">
        {status && <PauseAll running={status.running} pausing={pausing} />}
        <button type="button" onClick={onPalette} title="Go to anything" data-testid="open-palette">
          <span className="strip-words">go to</span> <kbd>{showChord('Mod+k')}</kbd>
        </button>
        <button type="button" onClick={onSheet} title="Keyboard shortcuts">
          <span className="strip-words">shortcuts</span> <kbd>{showChord('?')}</kbd>
        </button>
      </span>
    </footer>
  )
}

function PauseAll({ running, pausing }: { running: number; pausing: Pausing }) {
  const rested = useRested(running === 0)
  if (running === 0 && rested > 0)
    return (
      <button type="button" onClick={pausing.resumeAll} disabled={pausing.isBusy}>
        ▶ resume {rested}
      </button>
    )
  return (
    <button
      type="button"
      onClick={pausing.pauseAll}
      disabled={pausing.isBusy || running === 0}
      title={`Pause every running task at its next safe point  ${showChord('Mod+Shift+.')}`}
    >
      ‖ pause all
    </button>
  )
}

/** How many tasks were paused with all others; asked only while none runs. */
function useRested(isOn: boolean): number {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['status', 'rested'],
    enabled: isOn,
    queryFn: async () =>
      (await desk.tasks.list()).filter(({ state, reason }) => state === 'paused' && reason === 'paused with all others')
        .length,
  })
  return isOn ? (query.data ?? 0) : 0
}

function ActiveRevision({ agents }: { agents: { agent: string; activation: number }[] }) {
  const only = agents.length === 1 ? agents[0] : undefined
  const text = only ? `active r${only.activation}` : `${agents.length} agents`
  return <a href={hrefOf({ screen: 'revisions', agent: only?.agent ?? null })}>{text}</a>
}
