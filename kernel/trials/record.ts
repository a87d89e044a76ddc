import type { History } from '../history/history.ts'
import type { Event } from '../wire/events.ts'
import {
  type ArmEnd,
  type TrialArm,
  type TrialPlan,
  type TrialResult,
  trialObservationSchema,
  trialPlanSchema,
  trialResultSchema,
} from '../wire/trials.ts'

export interface ArmRecord {
  agent: string
  task: string
  forkedAt: number
  end: ArmEnd | null
}

/** What history says of one trial. */
export interface TrialRecord {
  trial: string
  plan: TrialPlan
  plannedAt: number
  arms: Partial<Record<TrialArm, ArmRecord>>
  result: TrialResult | null
  closedAt: number | null
}

const kinds = ['trial.planned', 'trial.observed', 'trial.closed'] as const

/** Trials in order, rebuilt from history and followed from then on. */
export class TrialRecords {
  readonly #trials = new Map<string, TrialRecord>()
  #stop: () => void = () => {}

  static async open(history: History): Promise<TrialRecords> {
    const records = new TrialRecords()
    for (let after: number | null = 0; after !== null; ) {
      const page = await history.read({ agent: null }, { kinds, after, limit: 1000 })
      for (const event of page.events) records.#fold(event)
      after = page.next
    }
    records.#stop = history.onCommit((events) => {
      for (const event of events) records.#fold(event)
    })
    return records
  }

  all(): TrialRecord[] {
    return [...this.#trials.values()]
  }

  get(trial: string): TrialRecord | undefined {
    return this.#trials.get(trial)
  }

  close(): void {
    this.#stop()
  }

  #fold(event: Event): void {
    if (event.kind === 'trial.planned') {
      const { trial, plan } = event.data
      const planned = trialPlanSchema.parse(plan)
      this.#trials.set(trial, { trial, plan: planned, plannedAt: event.at, arms: {}, result: null, closedAt: null })
    } else if (event.kind === 'trial.observed') {
      const record = this.#trials.get(event.data.trial)
      const observation = trialObservationSchema.parse(event.data.observation)
      const arm = event.data.arm as TrialArm
      if (record === undefined) return
      if (observation.of === 'fork') {
        const { agent, task, forkedAt } = observation
        record.arms[arm] = { agent, task, forkedAt, end: null }
      } else {
        const found = record.arms[arm]
        if (found !== undefined) found.end = observation
      }
    } else if (event.kind === 'trial.closed') {
      const record = this.#trials.get(event.data.trial)
      if (record === undefined) return
      record.result = trialResultSchema.parse(event.data.result)
      record.closedAt = event.at
    }
  }
}
