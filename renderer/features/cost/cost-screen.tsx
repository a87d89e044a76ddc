import { useQuery } from '@tanstack/react-query'
import type { CostReport, CostScope } from '../../../kernel/wire/operator-cost.ts'
import { Empty, Loaded } from '../../components/states.tsx'
import { useNow } from '../../lib/clock.ts'
import { useAgents, useDesk, useTasks } from '../../lib/desk.tsx'
import { ago } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { Breaks } from './breaks.tsx'
import { Context } from './context.tsx'
import './cost.css'
import { ContextChart, CumulativeChart, InputChart } from './cost-charts.tsx'
import { Prices } from './prices.tsx'
import { Repeats, Troubled } from './repeats.tsx'
import { ScopeSelector } from './scope-selector.tsx'
import { scopeName } from './scopes.ts'
import { Totals } from './totals.tsx'
import { UsageTables } from './usage-tables.tsx'

/** How much, on what, against which limit; whether the cache works, and if not, since when and why. */
export function CostScreen({ scope }: { scope: CostScope | null }) {
  const tasks = useTasks()
  const agents = useAgents()
  const latest = tasks.data?.at(-1)?.task
  const chosen: CostScope = scope ?? (latest === undefined ? { of: 'all' } : { of: 'task', task: latest })
  return (
    <div className="cost">
      <div className="cost-head">
        <h1>Cost</h1>
        <ScopeSelector scope={chosen} tasks={tasks.data ?? []} agents={agents.data ?? []} />
      </div>
      {scope === null && tasks.data === undefined ? (
        <Loaded query={tasks} what="the tasks" rows={8}>
          {() => null}
        </Loaded>
      ) : (
        <Report key={JSON.stringify(chosen)} scope={chosen} />
      )}
      <Prices />
    </div>
  )
}

/** A report reads sums alone, and yet not at every event: twice a minute, and when a turn ends. */
const refetchMs = 30_000

function Report({ scope }: { scope: CostScope }) {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['cost', scope],
    queryFn: () => desk.cost.report({ scope }),
    refetchInterval: refetchMs,
  })
  return (
    <Loaded query={query} what={`the costs of ${scopeName(scope)}`} rows={8}>
      {(report) => (
        <>
          {query.error && <Stale at={report.at} />}
          <Body report={report} />
        </>
      )}
    </Loaded>
  )
}

function Stale({ at }: { at: number }) {
  const now = useNow()
  return (
    <p className="tone-wait" role="status">
      ▲ These figures could not be read again: they are as of {ago(at, now)}.
    </p>
  )
}

function Body({ report }: { report: CostReport }) {
  if (report.total.calls === 0)
    return (
      <Empty title={report.scope.of === 'all' ? 'No model call yet' : `No model call in ${scopeName(report.scope)}`}>
        <p className="muted">
          What a task asks of a model is counted here, call by call. Start one from{' '}
          <a href={hrefOf({ screen: 'home' })}>Home</a>; the offline model is counted at the prices of the model that it
          stands for, and every such figure says “simulated”.
        </p>
      </Empty>
    )
  return (
    <>
      <Totals report={report} />
      <div className="cost-charts panel">
        <CumulativeChart report={report} />
        <InputChart report={report} />
        <ContextChart report={report} />
      </div>
      <UsageTables report={report} />
      <Breaks report={report} />
      <div className="cost-pair">
        <Context report={report} />
        <Repeats report={report} />
      </div>
      <Troubled report={report} />
    </>
  )
}
