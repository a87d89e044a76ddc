import { memo } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ProposalStatus, Risk } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { absoluteTime, bytes, shortHash } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { capabilityLine, prefixLine, touchesTests } from './checks/details.ts'

const warnFrom = 200
const splitFrom = 400

/** Facts of the kernel only: the agent's words never stand here. What is high leads with why. */
export const Head = memo(function Head({ detail, onSplit }: { detail: ProposalDetail; onSplit: () => void }) {
  const isBaseCurrent = detail.base === detail.active.revision
  const isOpen = detail.state === 'ready'
  const isUndecided = isOpen || detail.state === 'checking' || detail.state === 'stale'
  const changed = detail.addedLines + detail.removedLines
  const isHigh = detail.risk === 'HIGH' || detail.risk === 'KERNEL'
  return (
    <header className="review-head">
      <div className="review-line">
        <h1>
          {detail.proposal} <span className="muted">of {detail.agent}</span>
        </h1>
        <ProposalStatus state={detail.state} />
        {!isHigh && <Risk tier={detail.risk} />}
        <span className="muted">
          base <code title={detail.base}>{shortHash(detail.base)}</code>{' '}
          {isBaseCurrent && `is active (r${detail.active.activation})`}
          {!isBaseCurrent && isUndecided && <span className="tone-stale">⟳ is not active any more</span>}
          {' → '}
          <code title={detail.revision}>{shortHash(detail.revision)}</code>
        </span>
        {detail.task && <a href={hrefOf({ screen: 'live', task: detail.task })}>from {detail.task}</a>}
        <span className="muted">
          made <TimeAgo at={detail.madeAt} /> by the {detail.by === 'executor' ? 'agent' : 'operator'}
        </span>
        {isOpen && detail.expiresAt !== null && <span className="muted">expires {absoluteTime(detail.expiresAt)}</span>}
        {isOpen && detail.deferredUntil !== null && detail.deferredUntil > Date.now() && (
          <span className="muted">deferred until {absoluteTime(detail.deferredUntil)}</span>
        )}
      </div>
      {isHigh && (
        <p className="review-high" data-testid="risk-reason">
          <Risk tier={detail.risk} />{' '}
          <strong>
            <InertText text={detail.riskReasons.join(' · ') || 'the kernel gave no reason'} />
          </strong>
        </p>
      )}
      <div className="review-line muted">
        <span>
          {detail.files.length} {detail.files.length === 1 ? 'file' : 'files'}{' '}
          <span className="added">+{detail.addedLines}</span> <span className="removed">−{detail.removedLines}</span>,
          tree {bytes(detail.sizeBytes)}
        </span>
        {!isHigh && detail.riskReasons.length > 0 && <InertText text={detail.riskReasons.join(' · ')} />}
        <Facts detail={detail} />
        {changed > warnFrom && (
          <span className="tone-wait">
            ▲ over {changed > splitFrom ? splitFrom : warnFrom} changed lines
            {changed > splitFrom && isOpen && (
              <>
                {' '}
                <button type="button" className="link" onClick={onSplit}>
                  ask the agent to split it
                </button>
              </>
            )}
          </span>
        )}
      </div>
    </header>
  )
})

function Facts({ detail }: { detail: ProposalDetail }) {
  const capability = capabilityLine(detail)
  const prefix = prefixLine(detail)
  const tests = touchesTests(detail)
  const isChecked = detail.pendingChecks.length === 0
  return (
    <>
      {(capability ?? isChecked) && (
        <span className={capability?.isGain ? 'tone-wait' : undefined}>
          capability: {capability ? `${capability.isGain ? '▲ ' : ''}${capability.text}` : 'not measured'}
        </span>
      )}
      {(prefix ?? isChecked) && (
        <span className={prefix?.isBroken ? 'tone-wait' : undefined}>
          prompt prefix: {prefix ? `${prefix.isBroken ? '▲ ' : ''}${prefix.text}` : 'not measured'}
        </span>
      )}
      {tests !== null && (
        <span className={tests.length > 0 ? 'tone-wait' : undefined}>
          touches tests: {tests.length === 0 ? 'no' : <>▲ {tests.length}</>}
        </span>
      )}
    </>
  )
}
