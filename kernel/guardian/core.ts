import type { Artifacts } from '../artifacts/artifacts.ts'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Executors, Replays } from '../executor/executor.ts'
import type { History } from '../history/history.ts'
import type { Notices } from '../notices.ts'
import type { Revisions } from '../revisions/revisions.ts'
import type { IntakeResult, SandboxProvider, TreeFile } from '../sandbox/sandbox.ts'
import type { Check } from './checks/check.ts'
import type { ProtectedText } from './checks/leakage.ts'
import { type Profile, profileOf, type Settings } from './checks/profile.ts'
import type { ActivationTarget } from './guardian.ts'
import type { Ledger } from './ledger.ts'

export interface GuardianParts {
  history: History
  revisions: Revisions
  artifacts: Artifacts
  provider: SandboxProvider
  clock: Clock
  /** Asked when needed: executors and guardian know each other. */
  executors: () => Executors
  replays: Replays
  intake: {
    intakePolicy(provider: SandboxProvider, what: { label: string; policyDir: string }): Promise<IntakeResult>
    layPolicy(
      provider: SandboxProvider,
      what: { label: string; policyDir: string; files: readonly TreeFile[]; kernelFiles?: readonly TreeFile[] },
    ): Promise<void>
  }
  /** Steps of probation of a proposal's activation, where the profile sets none. Default 10. */
  probationSteps?: number
  restarts?: Partial<RestartLimits>
  /** Told of agents in safe mode. */
  notices?: Notices
  /** What a policy of this agent may not know by heart. Absent: the leakage check cannot decide. */
  protectedTexts?: (agent: string) => Promise<ProtectedText[]>
  /** Default: those of `checks/profile.ts`. */
  checks?: readonly Check[]
  /** How long `approve` and `rollback` wait for the step boundary and the hand-over, ms. Default 130 000. */
  activationWaitMs?: number
}

/** When an executor that keeps failing is started again, and when no more. */
export interface RestartLimits {
  /** Doubles from failure to failure. */
  firstDelayMs: number
  maxDelayMs: number
  /** So many without a completed step in between are too many. A hang has cost a minute each time already. */
  consecutive: { crash: number; hang: number }
  withinMs: number
  perWindow: number
}

/** What the parts of the guardian share. */
export class Core {
  readonly parts: GuardianParts
  readonly ledger: Ledger
  /** In force now; `profileVersion` is what it is, or will be, recorded as. */
  profile: Profile
  profileVersion: number
  readonly activationWaitMs: number
  /** The running task of each agent. */
  readonly targets = new Map<string, ActivationTarget>()
  /** Agents whose active revision is being changed now, and by what. */
  readonly changing = new Map<string, { proposal: string | null; what: string }>()
  readonly #closing = new AbortController()
  readonly #jobs = new Map<Promise<void>, string>()

  constructor(parts: GuardianParts, ledger: Ledger, last: { version: number; hash: string; settings: Settings }) {
    this.parts = parts
    this.ledger = ledger
    this.profile = this.profileWith(last.settings)
    this.profileVersion = this.profile.hash === last.hash ? last.version : last.version + 1
    this.activationWaitMs = parts.activationWaitMs ?? 130_000
  }

  /** The profile that these settings make of the checks there are. */
  profileWith(settings: Settings): Profile {
    return profileOf(this.parts.checks, settings, this.parts.probationSteps)
  }

  /** Once it is recorded. */
  adopt(profile: Profile, version: number): void {
    this.profile = profile
    this.profileVersion = version
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** @throws KernelError `cancelled` once the guardian closes. */
  requireOpen(): void {
    if (this.closing.aborted) throw new KernelError('cancelled', 'the guardian is closed: the app is ending')
  }

  /** Work that goes on after its caller has been answered. What it throws while the guardian closes is dropped: it is taken up at the next start. */
  background(agent: string, work: () => Promise<unknown>): Promise<void> {
    const job = work().then(
      () => {},
      (error: unknown) => {
        if (!this.closing.aborted) process.emitWarning(error instanceof Error ? error : String(error))
      },
    )
    this.#jobs.set(job, agent)
    void job.finally(() => this.#jobs.delete(job))
    return job
  }

  async settled(agent?: string): Promise<void> {
    for (;;) {
      const open = [...this.#jobs].filter(([, of]) => agent === undefined || of === agent).map(([job]) => job)
      if (open.length === 0) return
      await Promise.all(open)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.settled()
    this.ledger.close()
  }
}

/** Resolves with `work`, or rejects as `cancelled` when `signal` aborts first; the work itself goes on unheeded. */
export async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => {})
  const cancelled = () => new KernelError('cancelled', 'the guardian is closed: the app is ending')
  if (signal.aborted) throw cancelled()
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(cancelled())
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Whether `work` was done within `ms`, rejecting as it does; it goes on in any case. Ends at once when `signal` aborts. */
export async function within(ms: number, signal: AbortSignal, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  let stop = () => {}
  const late = new Promise<false>((resolve) => {
    stop = () => resolve(false)
    timer = setTimeout(stop, ms)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
