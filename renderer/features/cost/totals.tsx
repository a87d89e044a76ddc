import type { CostReport } from '../../../kernel/wire/operator-cost.ts'
import { cacheReadOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { Simulated } from '../../components/status.tsx'
import { money, share, tokens, whole } from '../../lib/format.ts'
import { amount, hitRate, rewriteFactor, scopeName } from './scopes.ts'

/** What it comes to, in the buckets that a provider bills. */
export function Totals({ report }: { report: CostReport }) {
  const { total, breaks, caps, scope } = report
  const rate = hitRate(total)
  const full = total.uncached + total.cacheWrite
  const factor = rewriteFactor(full, breaks.missed)
  const notReported = total.cacheUnreported > 0 && cacheReadOf(total) === null
  return (
    <section className="panel cost-totals" aria-label={`Totals of ${scopeName(scope)}`} data-testid="cost-totals">
      <header>
        <h2>Total of {scopeName(scope)}</h2>
        <Simulated isSimulated={total.simulated > 0} />
        {total.simulated > 0 && total.simulated < total.calls && (
          <span className="muted">
            {whole(total.simulated)} of {whole(total.calls)} calls
          </span>
        )}
      </header>
      <dl className="cost-figures">
        <Figure name="Cost" value={amount(total)} note={unpricedNote(total.unpriced)} testId="cost-total" />
        <Figure name="Uncached input" value={tokens(total.uncached)} note="tokens" />
        <Figure
          name="Cache read"
          value={notReported ? 'not reported' : tokens(total.cacheRead)}
          note={
            !notReported && total.cacheUnreported > 0 ? `${whole(total.cacheUnreported)} calls not reported` : 'tokens'
          }
        />
        <Figure name="Cache write" value={tokens(total.cacheWrite)} note="tokens" />
        <Figure
          name="Output"
          value={tokens(total.output)}
          note={total.reasoning > 0 ? `${tokens(total.reasoning)} reasoning` : 'tokens'}
        />
        <Figure
          name="Hit rate"
          value={notReported ? 'not reported' : share(rate)}
          note="of input"
          title={`read / (uncached + read + write) = ${whole(total.cacheRead)} / (${whole(total.uncached)} + ${whole(
            total.cacheRead,
          )} + ${whole(total.cacheWrite)})`}
        />
        <Figure
          name="Re-write"
          value={factor === null ? '—' : `${factor.toFixed(2)}×`}
          note="estimated"
          title={`Input sent in full over what of it was new: ${whole(full)} / (${whole(full)} − ${whole(
            breaks.missed,
          )} missed in the cache)`}
        />
        <Figure
          name="Calls"
          value={whole(total.calls)}
          note={`${whole(total.failed)} failed · ${whole(total.turns)} ${total.turns === 1 ? 'turn' : 'turns'}`}
        />
      </dl>
      <ul className="cost-caps">
        {caps.map((cap) => (
          <li key={cap.of}>
            <span className="muted">{cap.of === 'day' ? 'Today, everything' : `Cap of ${cap.name}`}</span>{' '}
            <strong>{money(cap.spentNanoUsd)}</strong>
            {cap.limitNanoUsd === null ? ', no cap in dollars' : ` of ${money(cap.limitNanoUsd)}`}
            {cap.limitTokens !== null && ` · ${tokens(cap.spentTokens)} of ${tokens(cap.limitTokens)} tokens`}
          </li>
        ))}
      </ul>
    </section>
  )
}

function unpricedNote(unpriced: number): string {
  return unpriced === 0 ? 'all calls priced' : `${whole(unpriced)} ${unpriced === 1 ? 'call' : 'calls'} without a price`
}

function Figure(props: { name: string; value: string; note: string; title?: string; testId?: string }) {
  const { name, value, note, title, testId } = props
  return (
    <div title={title}>
      <dt>
        {name}
        {title && <span className="sr"> ({title})</span>}
      </dt>
      <dd>
        <strong data-testid={testId}>{value}</strong>
        <span className="muted">{note}</span>
      </dd>
    </div>
  )
}
