import type { Effect } from '../../../kernel/wire/operator-effects.ts'
import { money, whole } from '../../lib/format.ts'

type BreakEven = NonNullable<Effect['breakEven']>
const [width, height] = [600, 120]

/** Whether the edit has repaid the making of it, and when it will: saved less spent, step by step. */
export function BreakEvenLine({ activation, breakEven }: { activation: number; breakEven: BreakEven }) {
  const { line, basis, steps, spentNanoUsd, savedNanoUsd } = breakEven
  const words = breakEvenWords(breakEven)
  const nets = line.map(({ netNanoUsd }) => netNanoUsd)
  const [low, high] = [Math.min(0, ...nets), Math.max(0, ...nets)]
  const last = Math.max(1, line.at(-1)?.step ?? 1)
  const x = (step: number) => (step / last) * width
  const y = (net: number) => (high === low ? height / 2 : ((high - net) / (high - low)) * height)
  const points = line.map(({ step, netNanoUsd }) => `${x(step).toFixed(1)},${y(netNanoUsd).toFixed(1)}`).join(' ')
  return (
    <figure className="break-even" data-testid="break-even">
      <figcaption>
        <h3>
          r{activation}: <span className={`tone-${breakEven.isRepaid ? 'ok' : 'wait'}`}>{words}</span>
        </h3>
        <span className="muted">
          spent {money(spentNanoUsd)} · saved {money(savedNanoUsd)} · {whole(steps)} steps since
        </span>
      </figcaption>
      {line.length > 1 && (
        <div className="break-even-plot">
          <span className="muted break-even-top">{money(high)}</span>
          <span className="muted break-even-low">{money(low)}</span>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`Saved less spent by step: ${words}. From ${money(nets[0])} to ${money(nets.at(-1))} over ${last} steps.`}
          >
            <line className="break-even-zero" x1="0" x2={width} y1={y(0)} y2={y(0)} />
            {breakEven.isRepaid && breakEven.atStep !== null && (
              <line className="break-even-mark" x1={x(breakEven.atStep)} x2={x(breakEven.atStep)} y1="0" y2={height} />
            )}
            <polyline points={points} />
          </svg>
          <div className="break-even-axis muted">
            <span>step 0</span>
            <span>step {whole(last)}</span>
          </div>
        </div>
      )}
      <p className="muted">{basis}</p>
    </figure>
  )
}

export function breakEvenWords({ isRepaid, atStep, steps, savedNanoUsd }: BreakEven): string {
  if (savedNanoUsd === null) return 'not known'
  if (isRepaid) return atStep === null ? 'repaid' : `repaid at step ${whole(atStep)}`
  if (atStep === null) return 'not repaid, and never at this rate'
  return `not repaid: at this rate in ${whole(Math.max(1, atStep - steps))} steps`
}
