import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import type { Effect } from '../../../kernel/wire/operator-effects.ts'
import { money, share, tokens, whole } from '../../lib/format.ts'

const verdictWords = {
  better: { text: '✓ better', tone: 'ok' },
  worse: { text: '✗ worse', tone: 'bad' },
  inconclusive: { text: '? inconclusive', tone: 'muted' },
  'not-measured': { text: '— not measured', tone: 'muted' },
} as const
const judged = {
  'progress-per-dollar': 'by progress per dollar',
  'cost-per-step': 'by cost per step',
  'input-tokens': 'by input tokens per step',
} as const

type Figure = Effect['after']['costNanoUsd']

interface Line {
  name: string
  /** What the measured figures are. */
  statistic: string
  format: (value: number) => string
  predicted: [before: number | null, after: number | null] | null
  before: Figure
  after: Figure
}

function linesOf({ predicted, before, after }: Effect): Line[] {
  const of = (key: 'inputTokensPerStep' | 'costNanoUsdPerStep' | 'cachedShare'): Line['predicted'] =>
    predicted ? [predicted[key].before, predicted[key].after] : null
  return [
    {
      name: 'Cost per step',
      statistic: 'median',
      format: money,
      predicted: of('costNanoUsdPerStep'),
      before: before.costNanoUsd,
      after: after.costNanoUsd,
    },
    {
      name: 'Input tokens per step',
      statistic: 'median',
      format: (value) => tokens(Math.round(value)),
      predicted: of('inputTokensPerStep'),
      before: before.inputTokens,
      after: after.inputTokens,
    },
    {
      name: 'Cached share',
      statistic: 'median',
      format: share,
      predicted: of('cachedShare'),
      before: before.cachedShare,
      after: after.cachedShare,
    },
    {
      name: 'Measured progress per dollar',
      statistic: 'ratio of sums',
      format: (value) => (value >= 100 ? whole(Math.round(value)) : value.toPrecision(3)),
      predicted: null,
      before: before.progressPerUsd,
      after: after.progressPerUsd,
    },
  ]
}

/** What the change was said to bring, and what it brought: measured by the kernel, with what it is measured over. */
export function EffectTable({ row, effect }: { row: RevisionRow; effect: Effect }) {
  const verdict = verdictWords[effect.verdict]
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
    <section className="effect" aria-label={`Effect of r${row.activation}`} data-testid="effect" tabIndex={0}>
      <h3>
        r{row.activation}: <span className={`tone-${verdict.tone}`}>{verdict.text}</span>{' '}
        <span className="muted">
          {effect.judgedBy ? judged[effect.judgedBy] : 'fewer than five steps on a side'}, against the revision before
        </span>
      </h3>
      <table className="table effect-table">
        <thead>
          <tr>
            <th>Measured by kernel</th>
            <th>Predicted{effect.predicted && ` (mean, n=${whole(effect.predicted.n)})`}</th>
            <th className="figure">Before</th>
            <th className="figure">After</th>
            <th className="figure">Change</th>
          </tr>
        </thead>
        <tbody>
          {linesOf(effect).map(({ name, statistic, format, predicted, before, after }) => (
            <tr key={name}>
              <td>
                {name} <span className="muted">({statistic})</span>
              </td>
              <td className="figure-left">{prediction(predicted, format)}</td>
              <td className="figure">{withInterval(before, format)}</td>
              <td className="figure">{withInterval(after, format)}</td>
              <td className="figure">{changeOf(before, after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function prediction(predicted: Line['predicted'], format: Line['format']): string {
  if (predicted === null || predicted[0] === null || predicted[1] === null) return 'none'
  return `${format(predicted[0])} → ${format(predicted[1])}`
}

function withInterval(figure: Figure, format: Line['format']): string {
  if (figure === null) return 'not measured'
  return `${format(figure.value)} [${format(figure.low)}, ${format(figure.high)}] n=${whole(figure.n)}`
}

export function changeOf(before: Figure, after: Figure): string {
  if (before === null || after === null || before.value === 0) return '—'
  return percent(after.value / before.value)
}

/** One cell of the ledger: the verdict with the figure that it is about, and what had been predicted of the cost. */
export function EffectCell({ effect }: { effect: Effect | undefined }) {
  if (!effect?.judgedBy) return <span className="muted">—</span>
  const { predicted, before, after, verdict, judgedBy } = effect
  const { text, tone } = verdictWords[verdict]
  const key = (
    { 'progress-per-dollar': 'progressPerUsd', 'cost-per-step': 'costNanoUsd', 'input-tokens': 'inputTokens' } as const
  )[judgedBy]
  const what = {
    'progress-per-dollar': 'progress per dollar',
    'cost-per-step': 'cost a step',
    'input-tokens': 'input tokens a step',
  }
  const statistic = judgedBy === 'progress-per-dollar' ? 'ratio of sums' : 'median'
  const said = predicted?.costNanoUsdPerStep
  return (
    <>
      <span className={`tone-${tone}`}>{text}</span>{' '}
      <span className="muted">
        {changeOf(before[key], after[key])} {what[judgedBy]} ({statistic}, n={whole(after[key]?.n ?? 0)})
      </span>
      {predicted && said?.before && said.after !== null ? (
        <div className="muted">
          predicted {percent(said.after / said.before)}
          {judgedBy !== 'cost-per-step' && ' cost a step'} (mean, n={whole(predicted.n)})
        </div>
      ) : null}
    </>
  )
}

function percent(ratio: number): string {
  const change = Math.round((ratio - 1) * 100)
  return `${change > 0 ? '+' : change < 0 ? '−' : ''}${Math.abs(change)} %`
}
