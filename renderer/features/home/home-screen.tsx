import { useState } from 'react'
import type { HostStatus, ProposalSummary, TaskSummary } from '../../../kernel/wire/operator.ts'
import { Loaded } from '../../components/states.tsx'
import { useAgents, usePacks, useProposals, useStatus, useTasks } from '../../lib/desk.tsx'
import { useKeys } from '../../lib/keys.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { go, hrefOf } from '../../lib/route.ts'
import { SandboxBanner } from './banners.tsx'
import './home.css'
import { FinishedRow, RunningRow } from '../../components/task-rows.tsx'
import { FirstSteps } from './first-steps.tsx'
import { NeedsYou, needsOf } from './needs-you.tsx'
import { NewTask } from './new-task.tsx'
import { Since } from './since.tsx'
import { StartDemo } from './start-demo.tsx'

const live = new Set<TaskSummary['state']>(['starting', 'running', 'pausing', 'paused', 'stopping'])

/** Does anything need me, is what runs healthy, and what changed. */
export function HomeScreen() {
  const status = useStatus()
  const tasks = useTasks()
  const proposals = useProposals()
  return (
    <div className="home">
      <h1 className="sr">Home</h1>
      {status.data?.sandbox.available === false && <SandboxBanner sandbox={status.data.sandbox} />}
      <Loaded query={tasks} what="the tasks" rows={6}>
        {(list) => (
          <Loaded query={proposals} what="the proposals" rows={6}>
            {(all) => <Desk tasks={list} proposals={all} status={status.data} />}
          </Loaded>
        )}
      </Loaded>
    </div>
  )
}

function Desk(props: { tasks: TaskSummary[]; proposals: ProposalSummary[]; status: HostStatus | undefined }) {
  const { tasks, proposals, status } = props
  const packs = usePacks()
  const agents = useAgents()
  const needs = needsOf(tasks, proposals, agents.data ?? [])
  const running = tasks.filter((task) => live.has(task.state))
  const finished = tasks
    .filter((task) => task.state === 'finished')
    .sort((a, b) => (b.finishedAt ?? 0) - (a.finishedAt ?? 0))
  const hrefs = [
    ...needs.map((need) => need.href),
    ...[...running, ...finished].map((task) => hrefOf({ screen: 'live', task: task.task })),
  ]
  const selected = useListKeys(hrefs.length, (index) => {
    location.hash = hrefs[index] ?? '#/home'
  })
  const isNew = tasks.length === 0
  const [isAsking, setAsking] = useState(false)
  useKeys({ 'Mod+n': () => setAsking(true) })
  const watch = (task: string) => go({ screen: 'live', task })
  const start = (
    <StartDemo packs={packs} status={status} isFirst={isNew} onStarted={watch} onNew={() => setAsking(true)} />
  )
  return (
    <>
      {isNew && start}
      {isNew && <FirstSteps />}
      {needs.length > 0 && <NeedsYou needs={needs} selected={selected} />}
      {!isNew && (
        <section className="panel" aria-label="Running">
          <header>
            <h2>Running</h2>
            <span className="muted">{running.length}</span>
          </header>
          {running.length === 0 && <p className="home-empty muted">No task runs.</p>}
          {running.map((task, index) => (
            <RunningRow key={task.task} task={task} isSelected={selected === needs.length + index} />
          ))}
        </section>
      )}
      {!isNew && <Since tasks={tasks} proposals={proposals} />}
      {!isNew && (
        <section className="panel" aria-label="Finished">
          <header>
            <h2>Finished</h2>
            <span className="muted">{finished.length}</span>
          </header>
          {finished.map((task, index) => (
            <FinishedRow key={task.task} task={task} isSelected={selected === needs.length + running.length + index} />
          ))}
          {finished.length === 0 && <p className="home-empty muted">No task has finished yet.</p>}
        </section>
      )}
      {!isNew && start}
      {isAsking && <NewTask status={status} onClose={() => setAsking(false)} onStarted={watch} />}
    </>
  )
}
