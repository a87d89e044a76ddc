import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { many } from '../../lib/arming.ts'
import { hrefOf } from '../../lib/route.ts'

/** Where it comes from: what was turned down before, and what it was made of. */
export function Predecessor({ detail }: { detail: ProposalDetail }) {
  const { predecessor, derivedFrom, derivedTo, agent } = detail
  if (!predecessor && !derivedFrom && !derivedTo) return null
  return (
    <section className="evidence-block" aria-label="What came before" data-testid="predecessor">
      <h2>What came before</h2>
      {predecessor && (
        <>
          <p>
            {predecessor.isSameContent && <strong className="tone-wait">▲ The same content again. </strong>}
            <a href={hrefOf({ screen: 'review', agent, proposal: predecessor.proposal })}>{predecessor.proposal}</a> was{' '}
            {predecessor.state}
            {predecessor.category && ` (${predecessor.category.replaceAll('-', ' ')})`}
            {predecessor.reason && (
              <>
                : “<InertText text={predecessor.reason} />”
              </>
            )}
          </p>
          {predecessor.comments.map((comment) => (
            <p key={`${comment.path} ${comment.line} ${comment.text}`} className="muted">
              <InertText className="mono" text={`${comment.path}:${comment.line}`} /> “<InertText text={comment.text} />
              ”
            </p>
          ))}
        </>
      )}
      {derivedFrom && (
        <p>
          {derivedFrom.how === 'part' ? 'A part' : 'An edit'} of{' '}
          <a href={hrefOf({ screen: 'review', agent, proposal: derivedFrom.proposal })}>{derivedFrom.proposal}</a> by
          the operator: {many(derivedFrom.agentLines, 'line')} of the agent, {derivedFrom.operatorLines} of the
          operator.
        </p>
      )}
      {derivedTo && (
        <p>
          Its place was taken by <a href={hrefOf({ screen: 'review', agent, proposal: derivedTo })}>{derivedTo}</a>.
        </p>
      )}
    </section>
  )
}
