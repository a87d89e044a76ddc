import type { History } from '../history/history.ts'
import type { Event, EventData, EventKind } from '../wire/events.ts'

/** What history says of one task; kept by replay and then by the live feed. */
export interface TaskRecord {
  task: string
  agent: string
  /** Its limits are those in force: as they were raised since. */
  created: EventData<'task.created'>
  createdAt: number
  /** An arm of a trial: shown with the trial, and nowhere as a task. */
  isTrial: boolean
  isStarted: boolean
  isPaused: boolean
  pauseReason: string | null
  finished: EventData<'task.finished'> | null
  finishedAt: number | null
  lastEventAt: number
  /** Of its latest event: while it is the same, so are the task's figures. */
  lastSeq: number
}

const kinds = [
  'task.created',
  'task.started',
  'task.paused',
  'task.resumed',
  'task.finished',
  'budget.raised',
] as const satisfies EventKind[]

/** Tasks in order of creation, rebuilt from history and followed from then on. */
export class TaskRecords {
  readonly #tasks = new Map<string, TaskRecord>()

  static async open(history: History): Promise<TaskRecords> {
    const records = new TaskRecords()
    let after: number | null = 0
    while (after !== null) {
      const page = await history.read({ agent: null }, { kinds, after, limit: 1000 })
      for (const event of page.events) records.#fold(event)
      after = page.next
    }
    for (const record of records.#tasks.values()) {
      const [last] = (await history.read({ agent: record.agent }, { task: record.task, order: 'desc', limit: 1 }))
        .events
      if (last === undefined) continue
      record.lastEventAt = last.at
      record.lastSeq = last.seq
    }
    history.onCommit((events) => {
      for (const event of events) records.#fold(event)
    })
    return records
  }

  /** But for arms of trials. */
  all(): TaskRecord[] {
    return [...this.#tasks.values()].filter(({ isTrial }) => !isTrial)
  }

  trials(): TaskRecord[] {
    return [...this.#tasks.values()].filter(({ isTrial }) => isTrial)
  }

  get(task: string): TaskRecord | undefined {
    return this.#tasks.get(task)
  }

  nextId(): string {
    return `T-${this.#tasks.size + 1}`
  }

  #fold(event: Event): void {
    if (event.task === null) return
    if (event.kind === 'task.created') {
      this.#tasks.set(event.task, {
        task: event.task,
        agent: event.agent ?? '',
        created: { ...event.data, limits: { ...event.data.limits } },
        createdAt: event.at,
        isTrial: event.run === 'trial',
        isStarted: false,
        isPaused: false,
        pauseReason: null,
        finished: null,
        finishedAt: null,
        lastEventAt: event.at,
        lastSeq: event.seq,
      })
      return
    }
    const record = this.#tasks.get(event.task)
    if (record === undefined) return
    record.lastEventAt = event.at
    record.lastSeq = event.seq
    if (event.kind === 'task.started') record.isStarted = true
    else if (event.kind === 'task.paused') {
      record.isPaused = true
      record.pauseReason = event.data.reason
    } else if (event.kind === 'task.resumed') {
      record.isPaused = false
      record.pauseReason = null
    } else if (event.kind === 'budget.raised') {
      const { budget, to } = event.data
      if (budget === 'usd') record.created.limits.budgetNanoUsd = to
      if (budget === 'tokens') record.created.limits.budgetTokens = to
    } else if (event.kind === 'task.finished') {
      record.finished = event.data
      record.finishedAt = event.at
    }
  }
}
