import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import uPlot from 'uplot'
import type { DecisionTime } from '../../../kernel/wire/operator-decision-time.ts'
import { Chart, type ChartSpec } from '../../components/chart.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { windowLabel, windowRows, windowsText, windowText } from '../../lib/decision-windows.ts'
import { useDesk } from '../../lib/desk.tsx'
import { duration, whole } from '../../lib/format.ts'

const bars = uPlot.paths.bars?.({ size: [0.8, 24], align: 0 })

/** Medians move slowly, and none is worth a computation for every step. */
const everyMs = 10_000

/** How long it takes from what the agent is told to what it does next, by windows of the time that its turns ran. */
export function DecisionChart({ task, isSimulated }: { task: string; isSimulated: boolean }) {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['decisions', task],
    queryFn: () => desk.tasks.decisionTime({ task }),
    refetchInterval: everyMs,
  })
  if (query.error) return <p className="side-empty tone-bad">✗ Decision time is not known: {errorText(query.error)}</p>
  if (!query.data || query.data.windows.length === 0) return null
  return <Decisions task={task} data={query.data} isSimulated={isSimulated} />
}

function Decisions({ task, data, isSimulated }: { task: string; data: DecisionTime; isSimulated: boolean }) {
  // Bars from zero, one for each window.
  const spec = useMemo(
    (): ChartSpec => ({
      data: [data.windows.map((_, index) => index + 1), data.windows.map(({ medianMs }) => medianMs)],
      series: (color) => [
        {},
        { fill: color('--muted'), width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) },
      ],
      formatX: (x) => windowLabel(data, x),
      formatY: duration,
      marks: [],
      describe: (index) => windowText(data, index),
    }),
    [data],
  )
  const count = data.windows.reduce((sum, { decisions }) => sum + decisions, 0)
  return (
    <Chart
      title="Decision time"
      unit={
        <>
          median, input to answer <Simulated isSimulated={isSimulated} />
        </>
      }
      summary={windowsText(data)}
      testId="decision-chart"
      spec={spec}
      legend={`by 15 min of active time, n = ${whole(count)}; network and retries count`}
      table={{ file: `${task}-decision-time.csv`, ...windowRows(data) }}
    />
  )
}
