import type { CostReport } from '../../../kernel/wire/operator-cost.ts'
import { costTable, csvOf } from '../../../kernel/wire/operator-cost-tables.ts'
import { SaveCsv } from '../../components/save-csv.tsx'
import { Simulated } from '../../components/status.tsx'
import { money, share, tokens, whole } from '../../lib/format.ts'
import { fileName, scopeName } from './scopes.ts'

export const blockNames = {
  ...{ instructions: 'Instructions', tools: 'Tool definitions', memory: 'Memory', messages: 'Messages' },
  toolResults: 'Tool results',
} as const
const standing = new Set(['instructions', 'tools', 'memory'])

/** What a request is made of, and what its standing parts cost for being sent each time. */
export function Context({ report }: { report: CostReport }) {
  const { total, context } = report
  const all = context.blocks.reduce((sum, { tokens }) => sum + tokens, 0)
  return (
    <section
      className="panel cost-table"
      aria-label={`Context of ${scopeName(report.scope)}`}
      data-testid="cost-context"
    >
      <header>
        <h2>Context and its rent</h2>
        <Simulated isSimulated={total.simulated > 0} />
        <span className="cost-fill" />
        <SaveCsv file={fileName(report, 'context')} csv={() => csvOf(costTable(report, 'context'))} />
      </header>
      <table className="table">
        <thead>
          <tr>
            <th>Part</th>
            <th className="figure">A request</th>
            <th className="figure">Share</th>
            <th className="figure">Rent a turn</th>
            <th className="figure">Rent so far</th>
          </tr>
        </thead>
        <tbody>
          {context.blocks.map(({ block, tokens: sent, rentNanoUsd }) => (
            <tr key={block}>
              <th scope="row">{blockNames[block]}</th>
              <td className="figure">{total.calls === 0 ? '—' : tokens(Math.round(sent / total.calls))}</td>
              <td className="figure">{all === 0 ? '—' : share(sent / all)}</td>
              <td className="figure">{rent(block, rentNanoUsd, total.turns)}</td>
              <td className="figure">{rent(block, rentNanoUsd, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted cost-note">
        Tokens: mean of {whole(total.calls)} requests, as counted before they were sent. Rent: their tokens times
        requests times price, estimated; what stands at the front of a prompt is charged as cached where the cache
        reached it.
        {context.rentUnknown > 0 &&
          ` Of ${whole(context.rentUnknown)} calls the price is not known, so neither is the rent.`}
      </p>
    </section>
  )
}

function rent(block: string, nanoUsd: number | null, over: number): string {
  if (!standing.has(block)) return ''
  return nanoUsd === null ? 'unknown' : over === 0 ? '—' : money(nanoUsd / over)
}
