import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ToolDetail, ToolRow } from '../../../kernel/wire/operator-tools.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { bytes, duration, share, shortHash, tokens, whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { authorityOf, authorOf } from './authority.ts'
import { AuditMark } from './marks.tsx'
import { Samples } from './samples.tsx'
import { ToolActions } from './tool-actions.tsx'
import { ToolSource } from './tool-source.tsx'
import { failureShare } from './views.ts'

/** All there is to one tool: reach, source, schema, who calls it, how its calls went, and what to do about it. */
export function ToolDrawer({ agent, row, onClose }: { agent: string; row: ToolRow; onClose: () => void }) {
  const desk = useDesk()
  const { tool } = row
  const query = useQuery({ queryKey: ['tools', agent, tool], queryFn: () => desk.tools.get({ agent, tool }) })
  const [isDiff, setDiff] = useState(false)
  useKeys({ escape: onClose, d: () => setDiff((before) => !before) })
  return (
    <aside className="panel tools-drawer" aria-label={`Tool ${tool}`} data-testid="tool-drawer">
      <header>
        <h2>
          <InertText text={tool} />
        </h2>
        <AuditMark row={row} />
        <button type="button" className="button quiet tools-close" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="tools-drawer-body" aria-label={`About ${tool}`} tabIndex={0}>
        {row.quarantined && (
          <p className="tools-note tone-bad" role="status">
            ‖ In quarantine since <TimeAgo at={row.quarantined.at} />: <InertText text={row.quarantined.reason} />. It
            is not offered, and nothing that a call of it asks for is carried out.
          </p>
        )}
        {!row.isOffered && <p className="muted">The agent has no tool of this name now.</p>}
        {row.description && (
          <p>
            <span className="muted">says of itself </span>“<InertText text={row.description} />”
          </p>
        )}
        <ToolActions agent={agent} row={row} />
        <Reaches row={row} />
        <Figures agent={agent} row={row} />
        <Loaded query={query} what={`the tool ${tool}`} rows={8}>
          {(detail) => (
            <>
              <ToolSource agent={agent} detail={detail} isDiff={isDiff} onDiff={setDiff} />
              <Schema detail={detail} />
              <section>
                <h3>Imported by</h3>
                {detail.callers.length === 0 ? (
                  <p className="muted">No file of the active policy imports it.</p>
                ) : (
                  <p className="mono">
                    <InertText text={detail.callers.join(', ')} />
                  </p>
                )}
              </section>
              <Samples samples={detail.samples} />
            </>
          )}
        </Loaded>
      </section>
    </aside>
  )
}

/** Each reach once: named by the source, seen in its calls. What was seen and is not named is the red row. */
function Reaches({ row }: { row: ToolRow }) {
  const all = [...new Set([...row.undeclared, ...row.declared, ...row.observed])]
  return (
    <section>
      <h3>Reach</h3>
      {all.length === 0 ? (
        <p className="muted">Its source names nothing of the kernel’s, and its calls asked for nothing but reads.</p>
      ) : (
        <table className="table tools-reaches">
          <thead>
            <tr>
              <th>Asks the kernel for</th>
              <th>Its source</th>
              <th>Its calls</th>
            </tr>
          </thead>
          <tbody>
            {all.map((reach) => {
              const isOver = row.undeclared.includes(reach)
              return (
                <tr key={reach} data-over={isOver || undefined} data-testid={isOver ? 'undeclared' : undefined}>
                  <td className="mono">{reach}</td>
                  <td>{row.declared.includes(reach) ? 'names it' : <strong>✗ does not name it</strong>}</td>
                  <td>{row.observed.includes(reach) ? 'did it' : <span className="muted">not seen</span>}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
      <p className="muted tools-small">
        Source: the kernel’s reading of its file and all that it imports,{' '}
        {row.declaredBy === 'syntax'
          ? 'by the syntax tree'
          : 'by words, since the syntax tree could not be had: names that are put together are not seen'}
        . Calls: measured by the kernel; reads of history and artifacts are not counted, nor what cannot be told apart
        from other calls of the same answer.
      </p>
    </section>
  )
}

function Figures({ agent, row }: { agent: string; row: ToolRow }) {
  const failed = failureShare(row)
  const { introduced, saved } = row
  return (
    <section>
      <h3>Figures</h3>
      <dl className="tools-pairs">
        <dt>Came with</dt>
        <dd>
          {introduced ? (
            <>
              r{introduced.activation}
              {introduced.proposal && (
                <>
                  {' '}
                  (<Proposal agent={agent} proposal={introduced.proposal} />)
                </>
              )}
              , <TimeAgo at={introduced.at} />
            </>
          ) : (
            'not known'
          )}
        </dd>
        <dt>Made by</dt>
        <dd>{introduced ? authorOf(introduced) : 'not known'}</dd>
        <dt>Approved by</dt>
        <dd>{introduced ? authorityOf(introduced.by) : 'not known'}</dd>
        <dt>Changed by</dt>
        <dd>
          {row.changedBy.length === 0
            ? 'nobody since'
            : row.changedBy.map((proposal) => (
                <span key={proposal}>
                  <Proposal agent={agent} proposal={proposal} />{' '}
                </span>
              ))}
        </dd>
        <dt>Calls</dt>
        <dd>
          {whole(row.calls)}, {whole(row.callsLast7Days)} of them in the last 7 d
        </dd>
        <dt>Failed</dt>
        <dd>
          {whole(row.errors)} errors, {whole(row.interrupted)} interrupted
          {failed !== null && ` (${share(failed)})`}
        </dd>
        <dt>Time</dt>
        <dd>
          {duration(row.medianMs)} (median, n={whole(Math.min(100, row.calls))} latest calls)
        </dd>
        <dt>Results</dt>
        <dd>
          {bytes(row.outputBytes)}, about {tokens(row.resultTokens)} tokens
        </dd>
        <dt>Cost</dt>
        <dd>
          {row.costShare === null
            ? 'not known'
            : `${share(row.costShare)} of the cost is of steps that called it (latest 1 000 calls)`}
        </dd>
        <dt>Tokens a step</dt>
        <dd>
          {saved
            ? `${tokens(Math.round(saved.before))} before it (mean, n=${whole(saved.stepsBefore)} steps), ${tokens(Math.round(saved.after))} since (mean, n=${whole(saved.stepsAfter)} steps): observed, no proof`
            : row.origin === 'seed'
              ? 'it was always there'
              : 'no task ran both before it and since'}
        </dd>
      </dl>
    </section>
  )
}

function Proposal({ agent, proposal }: { agent: string; proposal: string }) {
  return <a href={hrefOf({ screen: 'review', agent, proposal })}>{proposal}</a>
}

function Schema({ detail }: { detail: ToolDetail }) {
  return (
    <section>
      <h3>Schema, as offered last</h3>
      {detail.schema === null ? (
        <p className="muted">None of the latest requests offered it.</p>
      ) : (
        <ScrollText label="Schema" className="tools-block">
          <InertText text={JSON.stringify(detail.schema, null, 2)} />
        </ScrollText>
      )}
      {detail.fileHash && (
        <p className="muted tools-small">
          <InertText className="mono" text={detail.file ?? ''} /> has the bytes{' '}
          <code>{shortHash(detail.fileHash)}</code>
        </p>
      )}
    </section>
  )
}
