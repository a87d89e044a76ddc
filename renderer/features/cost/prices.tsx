import { useQuery } from '@tanstack/react-query'
import type { PriceInForce } from '../../../kernel/wire/operator-cost.ts'
import { csvOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { InertText } from '../../components/inert-text.tsx'
import { SaveCsv } from '../../components/save-csv.tsx'
import { Loaded } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { useDesk } from '../../lib/desk.tsx'

/** What calls are charged by from now on. What was charged stays as it was. */
export function Prices() {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['cost', 'prices'], queryFn: () => desk.cost.prices() })
  return (
    <section className="panel cost-table" aria-label="Prices in force" data-testid="cost-prices">
      <Loaded query={query} what="the prices" rows={3}>
        {({ version, rows }) => (
          <>
            <header>
              <h2>Prices</h2>
              <span className="muted">USD per million tokens · {version}</span>
              <span className="cost-fill" />
              {rows.length > 0 && <SaveCsv file="prices" csv={() => csvOf({ head, rows: rows.map(cells) })} />}
            </header>
            {rows.length === 0 ? (
              <p className="muted cost-note">No task has used a model yet, and no price has been set.</p>
            ) : (
              <Table rows={rows} />
            )}
            <p className="muted cost-note">
              An own price is set with <code>exodesk price</code> or in Settings; it holds for calls from its day on,
              and no call that was made is priced anew.
            </p>
          </>
        )}
      </Loaded>
    </section>
  )
}

const head = ['model', 'base_url', 'input', 'cached_input', 'cache_write', 'output', 'since', 'source']
const cells = (row: PriceInForce) => [
  ...[
    row.model,
    row.baseUrl,
    row.input,
    row.cachedInput,
    row.cacheWrite,
    row.output,
    row.since,
    row.source ?? row.reason,
  ],
]

function Table({ rows }: { rows: readonly PriceInForce[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
    <section className="cost-scroll" aria-label="Table of prices" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>Model</th>
            <th className="cost-roomy">At</th>
            <th className="figure">Input</th>
            <th className="figure">Cached</th>
            <th className="figure">Write</th>
            <th className="figure">Output</th>
            <th>Since</th>
            <th>From</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.model} ${row.baseUrl}`}>
              <th scope="row">
                <InertText text={row.model} /> <Simulated isSimulated={row.simulated} />
              </th>
              <td className="cost-roomy cost-call muted">
                {row.simulated ? 'the offline model' : <InertText text={row.baseUrl} />}
              </td>
              <td className="figure">{usd(row.input)}</td>
              <td className="figure">{usd(row.cachedInput)}</td>
              <td className="figure">{usd(row.cacheWrite)}</td>
              <td className="figure">{usd(row.output)}</td>
              <td className="cost-nowrap">{row.since ?? '—'}</td>
              <td>
                {row.isOverride && <span className="chip">yours</span>}{' '}
                {row.source ?? <span className="tone-wait">▲ unknown: {row.reason}</span>}
                {row.above.length > 0 && (
                  <span className="muted">
                    {' '}
                    (from {row.above.map((tier) => tier.inputTokens.toLocaleString('en')).join(', ')} tokens on more)
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function usd(value: number | null): string {
  return value === null ? 'unknown' : `$${String(value)}`
}
