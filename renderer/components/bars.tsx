import type { Progress } from '../../kernel/wire/events.ts'
import { amount, money } from '../lib/format.ts'
import './bars.css'

/** Progress in the task's own unit. What is only reported from inside the sandbox says so. */
export function ProgressBar({ progress }: { progress: Progress | null }) {
  if (!progress) return <span className="muted">no progress measured</span>
  const { value, goal, unit, source } = progress
  return (
    <span className="bar" title={`${source}${goal === null ? '' : `, goal ${amount(goal)} ${unit}`}`}>
      <span className="figure">
        {amount(value)}
        {goal !== null && `/${amount(goal)}`} {unit}
        {source === 'reported' && ' (reported)'}
      </span>
      {goal !== null && goal > 0 && <Fill part={value / goal} tone="run" />}
    </span>
  )
}

export function BudgetBar({ usedNanoUsd, limitNanoUsd }: { usedNanoUsd: number | null; limitNanoUsd: number | null }) {
  if (limitNanoUsd === null) return <span className="figure">{money(usedNanoUsd)}, no cap</span>
  const part = usedNanoUsd === null ? 0 : usedNanoUsd / limitNanoUsd
  return (
    <span className="bar" title="Spent of the task's cap">
      <span className="figure">
        {money(usedNanoUsd)}/{money(limitNanoUsd)}
      </span>
      <Fill part={part} tone={part >= 0.8 ? 'wait' : 'run'} />
    </span>
  )
}

function Fill({ part, tone }: { part: number; tone: 'run' | 'wait' }) {
  const percent = Math.max(0, Math.min(1, part)) * 100
  return (
    <span className="bar-track" aria-hidden="true">
      <span className={`bar-fill bar-${tone}`} style={{ width: `${percent}%` }} />
    </span>
  )
}
