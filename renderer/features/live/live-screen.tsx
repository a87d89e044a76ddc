import { useCallback, useMemo, useState } from 'react'
import { Empty, Loaded } from '../../components/states.tsx'
import { FinishedRow, RunningRow } from '../../components/task-rows.tsx'
import { useProposals, useSeries, useTask, useTasks } from '../../lib/desk.tsx'
import type { FeedRow } from '../../lib/feed-rows.ts'
import { useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { marksOf } from '../../lib/series.ts'
import { Drawer } from './drawer.tsx'
import { FeedList } from './feed-list.tsx'
import { Header } from './header.tsx'
import './live.css'
import { NowLine } from './now-line.tsx'
import { Side } from './side.tsx'
import { useFeed } from './use-feed.ts'

/** What it does now, whether it gets better, what it costs, and how to stop it. */
export function LiveScreen({ task }: { task: string }) {
  const query = useTask(task)
  return (
    <Loaded query={query} what={`task ${task}`} rows={10}>
      {(summary) => (
        <div className="live">
          <Header task={summary} />
          <NowLine task={summary} />
          <Body
            task={task}
            agent={summary.agent}
            isSimulated={summary.model.simulated}
            budget={summary.limits.budgetNanoUsd}
          />
        </div>
      )}
    </Loaded>
  )
}

function Body(props: { task: string; agent: string; isSimulated: boolean; budget: number | null }) {
  const { task, agent, isSimulated, budget } = props
  const { feed, state, loadEarlier } = useFeed(task)
  const series = useSeries(task)
  const proposals = useProposals(agent)
  const [open, setOpen] = useState<FeedRow | null>(null)
  const close = useCallback(() => setOpen(null), [])
  useKeys(
    {
      escape: () => {
        setOpen(null)
      },
    },
    open !== null,
  )
  const marks = useMemo(
    () => marksOf(series.data?.steps ?? [], proposals.data ?? [], task),
    [series.data, proposals.data, task],
  )
  return (
    <div className="live-body">
      <FeedList feed={feed} state={state} loadEarlier={loadEarlier} openSeq={open?.seq ?? null} onOpen={setOpen} />
      <div className="live-side">
        {open && <Drawer row={open} events={state.events} isSimulated={isSimulated} onClose={close} />}
        <Loaded query={series} what="the figures" rows={8}>
          {(data) => (
            <Side task={task} agent={agent} series={data} marks={marks} isSimulated={isSimulated} budget={budget} />
          )}
        </Loaded>
      </div>
    </div>
  )
}

/** Which task to watch. */
export function LiveIndex() {
  const tasks = useTasks()
  return (
    <div className="live-index">
      <h1>Tasks</h1>
      <Loaded query={tasks} what="the tasks">
        {(list) =>
          list.length === 0 ? (
            <Empty title="No task yet">
              <p className="muted">
                Start one from <a href={hrefOf({ screen: 'home' })}>Home</a>.
              </p>
            </Empty>
          ) : (
            <div className="panel">
              {list.map((task) =>
                task.state === 'finished' ? (
                  <FinishedRow key={task.task} task={task} isSelected={false} />
                ) : (
                  <RunningRow key={task.task} task={task} isSelected={false} />
                ),
              )}
            </div>
          )
        }
      </Loaded>
    </div>
  )
}
