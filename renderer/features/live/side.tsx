import type { ActivationPoint, StepPoint } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { useFrame } from '../../lib/desk.tsx'
import type { Mark } from '../../lib/series.ts'
import { ActivationTable } from './activation-table.tsx'
import { CostChart, ProgressChart, TokensChart, UnitChart } from './charts.tsx'
import { DecisionChart } from './decision-chart.tsx'

interface Props {
  task: string
  agent: string
  series: { steps: StepPoint[]; activations: ActivationPoint[]; unit: string | null; goal: number | null }
  marks: Mark[]
  isSimulated: boolean
  budget: number | null
}

export function Side({ task, agent, series, marks, isSimulated, budget }: Props) {
  const { steps, activations, unit, goal } = series
  const named = unit ?? 'progress'
  return (
    <div className="side">
      <Frame task={task} />
      {steps.length === 0 ? (
        <p className="side-empty muted">The figures start with the first step.</p>
      ) : (
        <>
          <ProgressChart task={task} steps={steps} marks={marks} unit={named} goal={goal} />
          <UnitChart steps={steps} activations={activations} marks={marks} unit={named} isSimulated={isSimulated} />
          <ActivationTable agent={agent} activations={activations} unit={named} isSimulated={isSimulated} />
          <CostChart task={task} steps={steps} marks={marks} budget={budget} isSimulated={isSimulated} />
          <TokensChart task={task} steps={steps} marks={marks} isSimulated={isSimulated} />
          <DecisionChart task={task} isSimulated={isSimulated} />
        </>
      )}
    </div>
  )
}

/** What the world looks like, as it prints itself. */
function Frame({ task }: { task: string }) {
  const text = useFrame(task).data?.text
  if (!text) return null
  return (
    <figure className="frame" data-testid="frame">
      <ScrollText label="The world now">
        <InertText text={text} />
      </ScrollText>
    </figure>
  )
}
