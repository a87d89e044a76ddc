import { useAgents, useConnectionState, useDayBudget, useStatus } from '../../lib/desk.tsx'
import { share, today } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { setTheme, useTheme } from '../../lib/theme.ts'
import { TimeAgo } from '../time.tsx'
import { Verified } from '../verified.tsx'

const nextTheme = { system: 'light', light: 'dark', dark: 'system' } as const

/** Always there: what is active, what runs, what waits, what it cost today, and whether the kernel is well. */
export function StatusStrip() {
  const status = useStatus().data
  const agents = useAgents().data
  const day = useDayBudget().data
  const connection = useConnectionState()
  const theme = useTheme()
  return (
    <footer className="strip" data-testid="status-strip">
      {connection.status === 'lost' && connection.lostAt !== null && (
        <span className="tone-wait" role="status">
          ⟳ disconnected: as of <TimeAgo at={connection.lostAt} />
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
          <a href={hrefOf({ screen: 'live', task: null })}>
            {today(status.todayNanoUsd, day)}
            {status.todaySimulated && ' (simulated)'}
          </a>
          <a href={hrefOf({ screen: 'live', task: null })}>cached {share(status.cachedShare)}</a>
          <a href={hrefOf({ screen: 'home' })} className={status.sandbox.available ? undefined : 'tone-bad'}>
            {status.sandbox.available ? `✓ sandbox ${status.sandbox.provider}` : '✗ no sandbox'}
          </a>
          <a href={hrefOf({ screen: 'history' })}>
            <Verified subject="log" verified={status.verified} lastSeq={status.lastSeq} />
          </a>
          {status.unattended && <span className="tone-wait">▲ unattended: proposals are approved by a flag</span>}
        </>
      )}
      <button
        type="button"
        className="strip-last"
        onClick={() => setTheme(nextTheme[theme])}
        title={`Theme: ${theme}. Click for ${nextTheme[theme]}.`}
      >
        theme: {theme}
      </button>
    </footer>
  )
}

function ActiveRevision({ agents }: { agents: { agent: string; activation: number }[] }) {
  const only = agents.length === 1 ? agents[0] : undefined
  const text = only ? `active r${only.activation}` : `${agents.length} agents`
  return <a href={hrefOf({ screen: 'revisions', agent: only?.agent ?? null })}>{text}</a>
}
