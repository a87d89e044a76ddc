import { useQueries } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { EventRow, StepPoint, TaskSummary } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Empty, Loaded } from '../../components/states.tsx'
import { useDesk, useTasks } from '../../lib/desk.tsx'
import { lineOf } from '../../lib/event-line.ts'
import { useFixedRows } from '../../lib/fixed-rows.ts'
import { duration, money, tokens, whole } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { rowHeight } from './event-row.tsx'
import { laneOf, type Node, nodesOf } from './tree-nodes.ts'

interface Props {
  open: number | null
  onOpen: (seq: number) => void
  /** The task that the query names: it alone is shown. */
  only: string | null
}

/** Task, turn, step and event as a tree, each with its time as a bar within what holds it. */
export function TaskTree(props: Props) {
  const tasks = useTasks()
  return (
    <Loaded query={tasks} what="tasks" rows={10}>
      {(all) => {
        const shown = all.filter(({ task }) => props.only === null || task === props.only)
        return shown.length === 0 ? <Empty title="No task yet" /> : <Tree {...props} tasks={shown} />
      }}
    </Loaded>
  )
}

function Tree({ tasks, open, onOpen, only }: Props & { tasks: readonly TaskSummary[] }) {
  const desk = useDesk()
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(only === null ? [] : [only]))
  const [cursor, setCursor] = useState<string | null>(null)
  const opened = tasks.filter(({ task }) => expanded.has(task))
  const series = useQueries({
    queries: opened.map(({ task }) => ({ queryKey: ['series', task], queryFn: () => desk.tasks.series({ task }) })),
  })
  const steps = new Map(opened.map(({ task }, index) => [task, series[index]?.data?.steps]))
  const wanted = [...expanded].filter((id) => id.split('/').length === 3)
  const contents = useQueries({
    queries: wanted.map((id) => ({
      queryKey: ['history-step', id],
      queryFn: async () => {
        const [task, turn, step] = id.split('/')
        const page = await desk.events.find({ query: `task:${task} turn:${turn} step:${step}`, limit: 1000 })
        return { events: page.events.toReversed(), isCut: page.next !== null }
      },
    })),
  })
  const events = new Map(wanted.map((id, index) => [id, contents[index]?.data]))
  const error = [...series, ...contents].find((each) => each.error !== null)?.error
  const nodes = nodesOf(tasks, expanded, steps as ReadonlyMap<string, readonly StepPoint[] | undefined>, events)
  const rows = useFixedRows(nodes.length, rowHeight)
  const at = nodes.findIndex(({ id }) => id === cursor)
  const toggle = (id: string, isOpen?: boolean) =>
    setExpanded((before) => {
      const next = new Set(before)
      if (isOpen ?? !before.has(id)) next.add(id)
      else next.delete(id)
      return next
    })
  const go = (index: number) => {
    const node = nodes[Math.max(0, Math.min(nodes.length - 1, index))]
    if (node === undefined) return
    setCursor(node.id)
    rows.show(nodes.indexOf(node))
    if (node.event) onOpen(node.event.seq)
  }
  const parentOf = (node: Node) => nodes.findIndex(({ id }) => id === node.id.split('/').slice(0, -1).join('/'))
  useKeys({
    j: () => go(at + 1),
    k: () => go(at - 1),
    arrowdown: () => go(at + 1),
    arrowup: () => go(at - 1),
    arrowright: () => {
      const node = nodes[at]
      if (node?.isOpen === false) toggle(node.id, true)
      else go(at + 1)
    },
    arrowleft: () => {
      const node = nodes[at]
      if (node === undefined) return
      if (node.isOpen === true) toggle(node.id, false)
      else if (node.level > 1) go(parentOf(node))
    },
  })
  const { first, count, offset, height } = rows.window
  const ancestors = useMemo(() => ancestorsOf(nodes, first), [nodes, first])
  return (
    <div className="history-list">
      <p className="history-said">
        <span className="muted" data-testid="said">
          {whole(tasks.length)} {tasks.length === 1 ? 'task' : 'tasks'}
          {ancestors.map((node) => (
            <span key={node.id}> › {node.title}</span>
          ))}
        </span>
        {error && <span className="tone-bad">✗ {String((error as Error).message)}</span>}
      </p>
      <div className="history-node-head muted" aria-hidden="true">
        <span>task › turn › step › event</span>
        <span className="figure history-node-wide">tool calls</span>
        <span className="figure history-node-wide">input</span>
        <span className="figure">cost</span>
        <span>time, within what holds it</span>
        <span className="figure">took</span>
      </div>
      <div
        className="history-scroll"
        ref={rows.scroller}
        onScroll={rows.onScroll}
        role="tree"
        aria-label="Tasks"
        data-testid="tree"
      >
        <div style={{ height: Math.max(1, height) }} role="presentation">
          <div className="history-rows" role="presentation">
            {nodes.slice(first, first + count).map((node, place) => (
              <TreeRow
                key={node.id}
                node={node}
                top={place * rowHeight - offset}
                isCurrent={node.id === cursor || (node.event !== undefined && node.event.seq === open)}
                isTabStop={node.id === cursor || (at === -1 && first + place === 0)}
                onPick={() => {
                  setCursor(node.id)
                  if (node.event) onOpen(node.event.seq)
                  else if (node.isOpen !== null) toggle(node.id)
                }}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

function ancestorsOf(nodes: readonly Node[], first: number): Node[] {
  const id = nodes[first]?.id.split('/') ?? []
  return id.slice(0, -1).flatMap((_, index) => {
    const wanted = id.slice(0, index + 1).join('/')
    return nodes.find((node) => node.id === wanted) ?? []
  })
}

function TreeRow(props: { node: Node; top: number; isCurrent: boolean; isTabStop: boolean; onPick: () => void }) {
  const { node, top, isCurrent, isTabStop, onPick } = props
  const line = node.event && lineOf(node.event)
  return (
    <div
      role="treeitem"
      className="history-node"
      aria-level={node.level}
      aria-selected={isCurrent}
      {...(node.isOpen === null ? {} : { 'aria-expanded': node.isOpen })}
      tabIndex={isTabStop ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onPick}
      onKeyDown={(event) => {
        if (event.key === 'Enter' || event.key === ' ') onPick()
      }}
    >
      <span className="history-node-name" style={{ paddingLeft: (node.level - 1) * 16 }}>
        <span aria-hidden="true" className="history-twist">
          {node.isOpen === null ? '' : node.isOpen ? '▾' : '▸'}
        </span>
        {line ? (
          <>
            <span className={`tone-${line.tone}`}>
              <span aria-hidden="true">{line.icon}</span> {(node.event as EventRow).kind}
            </span>{' '}
            <InertText text={[line.word, line.text].filter(Boolean).join(' · ')} />
          </>
        ) : (
          <>
            <span className={node.hasFailed ? 'tone-bad' : ''}>{node.title}</span>{' '}
            <span className="muted">
              <InertText text={node.about} />
            </span>
          </>
        )}
      </span>
      <span className="figure muted history-node-wide">
        {node.toolCalls === null ? '' : `${whole(node.toolCalls)} ${node.toolCalls === 1 ? 'call' : 'calls'}`}
      </span>
      <span className="figure muted history-node-wide">
        {node.inputTokens === null ? '' : tokens(node.inputTokens)}
      </span>
      <span className="figure">
        {node.costNanoUsd === undefined ? '' : money(node.costNanoUsd)}
        {node.isSimulated && <span className="muted"> sim.</span>}
      </span>
      <Lane node={node} />
      <span className="figure muted">{node.endAt > node.startAt ? duration(node.endAt - node.startAt) : ''}</span>
    </div>
  )
}

function Lane({ node }: { node: Node }) {
  const lane = laneOf(node)
  return (
    <span className="history-lane" aria-hidden="true">
      {lane && (
        <span
          className={`history-bar-${node.hasFailed ? 'bad' : node.level === 4 ? 'event' : 'group'}`}
          style={{ left: `${lane.left}%`, width: `${lane.width}%` }}
        />
      )}
    </span>
  )
}
