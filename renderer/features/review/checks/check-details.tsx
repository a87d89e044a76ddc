import type { ProposalDetail } from '../../../../kernel/wire/operator.ts'
import { InertText } from '../../../components/inert-text.tsx'
import { ScrollText } from '../../../components/scroll-text.tsx'
import { claimOf, leakageOf, replayOf, staticOf, tapeOf, testsOf } from './details.ts'
import { ReplayTable } from './replay-table.tsx'

export type OnLine = (path: string, line: number, side?: 'before' | 'after') => void
type Check = ProposalDetail['checks'][number]

/** What a check found, in the form that serves it; as JSON where the desk does not know it. */
export function CheckDetails({ check, onLine }: { check: Check; onLine: OnLine }) {
  const { details } = check
  const isEmpty = details === null || (typeof details === 'object' && Object.keys(details).length === 0)
  if (isEmpty) return null
  const shown = known(check, onLine)
  return (
    <>
      {shown}
      <details>
        <summary>{shown ? 'all of it' : 'details'}</summary>
        <ScrollText label={`Details of ${check.check}`} className="block">
          <InertText text={JSON.stringify(details, null, 2)} />
        </ScrollText>
      </details>
    </>
  )
}

/** Where a check found what it cannot let pass: stands before its summary. */
export function CheckProblems({ check, onLine }: { check: Check; onLine: OnLine }) {
  const problems = check.check === 'static' ? (staticOf(check.details)?.problems ?? []) : []
  if (problems.length === 0) return null
  return (
    <ul className="check-facts">
      {problems.map((each) => (
        <li key={`${each.path} ${each.line} ${each.problem}`} className="tone-bad">
          ✗ <Where {...each} onLine={onLine} /> <InertText text={each.problem} />
        </li>
      ))}
    </ul>
  )
}

function known({ check, details }: Check, onLine: OnLine) {
  switch (check) {
    case 'static':
      return <Facts details={details} onLine={onLine} />
    case 'claim':
      return <Statements details={details} />
    case 'leakage':
      return <Leaks details={details} onLine={onLine} />
    case 'context-replay': {
      const replay = replayOf(details)
      return replay && <ReplayTable replay={replay} />
    }
    case 'tape-replay': {
      const tape = tapeOf(details)
      return (
        tape && (
          <p className="check-fact">
            {tape.matched} of {tape.recorded} recorded model calls were made in the same way
            {tape.divergedAt && (
              <>
                ; call {tape.divergedAt.call} was not: <InertText text={tape.divergedAt.why} />
              </>
            )}
          </p>
        )
      )
    }
    case 'tests':
      return <Tests details={details} />
    default:
      return null
  }
}

function Facts({ details, onLine }: { details: Check['details']; onLine: OnLine }) {
  const facts = staticOf(details)
  if (!facts) return null
  const { gained, lost, knobs, isCut } = facts
  return (
    <ul className="check-facts">
      {gained.map((each) => (
        <li key={`+${each.kind} ${each.path} ${each.line} ${each.what}`}>
          <strong className="tone-wait">+ {each.kind}</strong> <InertText className="mono" text={each.what} />{' '}
          <Where {...each} onLine={onLine} />
        </li>
      ))}
      {lost.map((each) => (
        <li key={`-${each.kind} ${each.path} ${each.line} ${each.what}`} className="muted">
          − {each.kind} <InertText className="mono" text={each.what} />{' '}
          <Where path={each.path} line={each.line} side="before" onLine={onLine} />
        </li>
      ))}
      {knobs.map((each) => (
        <li key={`k${each.path} ${each.line} ${each.name}`}>
          {each.buysBudget && <strong className="tone-wait">▲ may use more {each.unit}: </strong>}
          <InertText className="mono" text={each.name} />
          {each.buysBudget ? '' : ` (${each.unit})`} goes from {String(each.before ?? 'not set')} to{' '}
          {String(each.after ?? 'not set')}, <Where {...each} onLine={onLine} />
        </li>
      ))}
      {isCut && <li className="tone-wait">▲ More was found than is listed here.</li>}
    </ul>
  )
}

function Where(props: { path: string; line: number; side?: 'before' | 'after'; onLine: OnLine }) {
  const { path, line, side = 'after', onLine } = props
  return (
    <button type="button" className="link mono" onClick={() => onLine(path, line, side)}>
      <InertText text={`${path}:${line}`} />
    </button>
  )
}

const statementWords = {
  true: { text: '✓ true', tone: 'tone-ok' },
  false: { text: '✗ false', tone: 'tone-bad' },
  'not-decided': { text: '? not decided', tone: 'tone-wait' },
} as const

function Statements({ details }: { details: Check['details'] }) {
  const claim = claimOf(details)
  if (!claim) return null
  return (
    <ul className="check-facts">
      {claim.statements.map((each) => (
        <li key={`${each.from} ${each.kind} ${each.text}`}>
          <span className={statementWords[each.verdict].tone}>{statementWords[each.verdict].text}</span>{' '}
          <span className="muted">“</span>
          <InertText text={each.text} />
          <span className="muted">”</span> — <InertText text={each.found} />
        </li>
      ))}
    </ul>
  )
}

function Leaks({ details, onLine }: { details: Check['details']; onLine: OnLine }) {
  const leakage = leakageOf(details)
  if (!leakage) return null
  return (
    <ul className="check-facts">
      {leakage.leaks.map((each) => (
        <li key={`${each.path} ${each.line} ${each.text}`}>
          <strong className="tone-wait">{each.kind}</strong> <Where {...each} onLine={onLine} /> of{' '}
          <InertText text={each.of} />: <InertText className="mono" text={each.text} />
        </li>
      ))}
      <li className="muted">held against {leakage.protectedTexts} protected texts</li>
    </ul>
  )
}

function Tests({ details }: { details: Check['details'] }) {
  const tests = testsOf(details)
  if (!tests) return null
  const rows = [
    { name: 'its own', counts: tests.own },
    { name: 'those of the base, as they were', counts: tests.base },
  ]
  return (
    <ul className="check-facts">
      {rows.map(
        ({ name, counts }) =>
          counts && (
            <li key={name}>
              {name}: {counts.passed} passed,{' '}
              <span className={counts.failed > 0 ? 'tone-bad' : ''}>{counts.failed} failed</span>
              {counts.firstFailure !== null && (
                <>
                  {' '}
                  (<InertText text={counts.firstFailure} />)
                </>
              )}
            </li>
          ),
      )}
      {[...tests.removed.map((path) => `leaves out ${path}`), ...tests.changed.map((path) => `changes ${path}`)].map(
        (text) => (
          <li key={text} className="tone-wait">
            ▲ <InertText text={text} />
          </li>
        ),
      )}
    </ul>
  )
}
