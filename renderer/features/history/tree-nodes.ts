import type { EventRow, StepPoint, TaskSummary } from '../../../kernel/wire/operator.ts'
import { lineOf } from '../../lib/event-line.ts'

/** One row of the tree; its id is the path to it: `T-1`, `T-1/2`, `T-1/2/7`, `T-1/2/7/4711`. */
export interface Node {
  id: string
  level: 1 | 2 | 3 | 4
  title: string
  about: string
  /** null: it has nothing below it. */
  isOpen: boolean | null
  startAt: number
  endAt: number
  /** The time of what holds it, in which its bar lies. */
  span: { startAt: number; endAt: number }
  toolCalls: number | null
  inputTokens: number | null
  /** Undefined: it has none; null: not known. */
  costNanoUsd: number | null | undefined
  isSimulated: boolean
  hasFailed: boolean
  event?: EventRow
}

export interface StepContent {
  events: readonly EventRow[]
  /** Of a step with more events than were read, the newest. */
  isCut: boolean
}

/** The rows that are open, in order. What is still on its way has one row that says so. */
export function nodesOf(
  tasks: readonly TaskSummary[],
  expanded: ReadonlySet<string>,
  steps: ReadonlyMap<string, readonly StepPoint[] | undefined>,
  contents: ReadonlyMap<string, StepContent | undefined>,
): Node[] {
  const nodes: Node[] = []
  for (const task of tasks) {
    const own = taskNode(task, expanded.has(task.task))
    nodes.push(own)
    if (own.isOpen !== true) continue
    const points = steps.get(task.task)
    if (points === undefined) {
      nodes.push(waiting(own))
      continue
    }
    addTurns(nodes, own, points, expanded, contents)
  }
  return nodes
}

function addTurns(
  nodes: Node[],
  task: Node,
  points: readonly StepPoint[],
  expanded: ReadonlySet<string>,
  contents: ReadonlyMap<string, StepContent | undefined>,
): void {
  for (let from = 0; from < points.length; ) {
    const turn = (points[from] as StepPoint).turn
    let to = from
    while (points[to]?.turn === turn) to += 1
    const own = points.slice(from, to)
    const id = `${task.id}/${turn}`
    const endAt = points[to]?.at ?? task.endAt
    const node = groupNode(id, 2, `turn ${turn}`, task, own, endAt, expanded.has(id))
    node.about = `${own.length} ${own.length === 1 ? 'step' : 'steps'}`
    nodes.push(node)
    if (node.isOpen)
      for (const [index, point] of own.entries()) {
        const stepId = `${id}/${point.step}`
        const step = groupNode(
          stepId,
          3,
          `step ${point.step}`,
          node,
          [point],
          own[index + 1]?.at ?? endAt,
          expanded.has(stepId),
        )
        step.about = `r${point.activation}${point.cacheBreak ? ' · ✕ cache break' : ''}`
        step.isSimulated = task.isSimulated
        nodes.push(step)
        if (step.isOpen) addEvents(nodes, step, contents.get(stepId))
      }
    from = to
  }
}

function addEvents(nodes: Node[], step: Node, content: StepContent | undefined): void {
  if (content === undefined) {
    nodes.push(waiting(step))
    return
  }
  if (content.isCut)
    nodes.push({ ...waiting(step), id: `${step.id}/more`, title: 'older events of this step are in the list' })
  for (const event of content.events) {
    const took = typeof event.data.durationMs === 'number' ? event.data.durationMs : 0
    nodes.push({
      ...waiting(step),
      id: `${step.id}/${event.seq}`,
      title: event.kind,
      startAt: event.at - took,
      endAt: event.at,
      span: step,
      costNanoUsd: event.kind === 'model.called' ? (event.data.costNanoUsd as number | null) : undefined,
      isSimulated: event.kind === 'model.called' && event.data.simulated === true,
      hasFailed: lineOf(event).isError === true,
      event,
    })
  }
}

function taskNode(task: TaskSummary, isOpen: boolean): Node {
  const { totals } = task
  const span = { startAt: task.createdAt, endAt: task.finishedAt ?? task.lastEventAt }
  return {
    ...{
      id: task.task,
      level: 1,
      title: task.task,
      about: `${task.title} · ${task.outcome ?? task.state}`,
      isOpen,
      ...span,
      span,
    },
    ...{ toolCalls: null, inputTokens: totals.uncached + totals.cacheRead + totals.cacheWrite },
    ...{ costNanoUsd: totals.costNanoUsd, isSimulated: task.model.simulated, hasFailed: task.outcome === 'failed' },
  }
}

function groupNode(
  id: string,
  level: 2 | 3,
  title: string,
  parent: Node,
  points: readonly StepPoint[],
  endAt: number,
  isOpen: boolean,
): Node {
  const sum = (of: (point: StepPoint) => number) => points.reduce((total, point) => total + of(point), 0)
  const startAt = points[0]?.at ?? parent.startAt
  return {
    ...{ id, level, title, about: '', isOpen, startAt, endAt: Math.max(startAt, endAt), span: parent },
    toolCalls: sum(({ toolCalls }) => toolCalls),
    inputTokens: sum(({ uncached, cacheRead, cacheWrite }) => uncached + cacheRead + cacheWrite),
    costNanoUsd: points.some(({ costNanoUsd }) => costNanoUsd === null)
      ? null
      : sum(({ costNanoUsd }) => costNanoUsd ?? 0),
    isSimulated: parent.isSimulated,
    hasFailed: points.some(({ failedCalls }) => failedCalls > 0),
  }
}

function waiting(parent: Node): Node {
  return {
    ...{
      id: `${parent.id}/…`,
      level: Math.min(4, parent.level + 1) as Node['level'],
      title: 'loading…',
      about: '',
      isOpen: null,
    },
    ...{ startAt: 0, endAt: 0, span: parent, toolCalls: null, inputTokens: null, costNanoUsd: undefined },
    ...{ isSimulated: false, hasFailed: false },
  }
}

/** Where the bar lies, in percent of what holds it; null: it has no time. At least wide enough to be seen. */
export function laneOf({
  startAt,
  endAt,
  span,
}: Pick<Node, 'startAt' | 'endAt' | 'span'>): { left: number; width: number } | null {
  const whole = span.endAt - span.startAt
  if (startAt === 0 || whole <= 0) return null
  const left = Math.max(0, Math.min(99.5, ((startAt - span.startAt) / whole) * 100))
  const width = Math.max(0.5, Math.min(100 - left, ((endAt - startAt) / whole) * 100))
  return { left, width }
}
