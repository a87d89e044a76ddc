import { relative, sep } from 'node:path'
import type { Clock } from './clock.ts'
import type { Guardian } from './guardian/guardian.ts'
import type { History } from './history/history.ts'
import type { Notices } from './notices.ts'
import type { KernelResources } from './resources.ts'
import type { ProviderReport, SandboxProvider } from './sandbox/sandbox.ts'
import { blockedIn, listPacks } from './tasks/pack.ts'
import type { Tasks } from './tasks/tasks.ts'
import type { Trials } from './trials/trials.ts'
import type { HostStatus, PackRow } from './wire/operator.ts'
import { cachedShareOf } from './wire/statistics.ts'

/** What the status strip is made of, beside what is asked for anew each time. */
type Fixed = Pick<
  HostStatus,
  'version' | 'contract' | 'host' | 'dataDir' | 'startedAt' | 'recovered' | 'verified' | 'models'
>

export interface StatusParts {
  history: History
  guardian: Guardian
  tasks: Tasks
  trials: Pick<Trials, 'running'>
  provider: SandboxProvider
  /** Of every provider that this host knows. */
  reports(): Promise<ProviderReport[]>
  notices: Notices
  clock: Clock
  /** How commands are typed. */
  hint(text: string): string
}

export async function hostStatus(parts: StatusParts, fixed: Fixed): Promise<HostStatus> {
  const { history, guardian, tasks, provider, clock, notices, hint } = parts
  const midnight = new Date(clock.now()).setHours(0, 0, 0, 0)
  const [sandbox, providers, today, waiting] = await Promise.all([
    provider.report(),
    parts.reports(),
    history.totals({ sinceMs: midnight }),
    guardian.list({ waiting: true }),
  ])
  const all = tasks.states()
  const running = all.filter((task) => task.state !== 'finished')
  return {
    ...fixed,
    sandbox: {
      ...sandboxOf(sandbox, hint),
      providers: providers.map((report) => ({ name: report.name, ...sandboxOf(report, hint) })),
    },
    notices: notices
      .list()
      .map((one) => ({ ...one, text: hint(one.text), fix: one.fix === null ? null : hint(one.fix) })),
    running: running.filter((task) => task.state !== 'paused' && task.state !== 'interrupted').length,
    trials: parts.trials.running(),
    decisions: waiting.filter(({ deferredUntil }) => (deferredUntil ?? 0) <= clock.now()).length,
    todayNanoUsd: today.costNanoUsd,
    todaySimulated: all.some((task) => task.simulated && task.lastEventAt >= midnight),
    cachedShare: cachedShareOf(today),
    unattended: running.some((task) => task.approve === 'all'),
    lastSeq: history.head()?.seq ?? 0,
  }
}

function sandboxOf(report: ProviderReport, hint: StatusParts['hint']) {
  return {
    available: report.available,
    provider: report.available ? report.name : null,
    detail: report.detail,
    reason: report.reason ?? null,
    fix: report.fix === undefined ? null : hint(report.fix),
  }
}

/** The packs in the folder of bundled ones, and what keeps each from running here. */
export async function packRows(resources: KernelResources, provider: SandboxProvider): Promise<PackRow[]> {
  const report = await provider.report()
  const found = await listPacks(resources.packs)
  return found.map((pack) => {
    const path = relative(resources.packsRoot, 'dir' in pack ? pack.dir : pack.pack)
      .split(sep)
      .join('/')
    if ('problem' in pack) {
      return {
        pack: path,
        name: path,
        description: '',
        goal: null,
        limits: noLimits,
        endpoints: [],
        blocked: pack.problem,
      }
    }
    return {
      pack: path,
      name: pack.name,
      description: pack.description,
      goal: pack.goal === null ? null : { ...pack.goal, source: 'measured' as const },
      limits: { ...noLimits, maxSteps: pack.maxSteps, maxMs: pack.timeoutMs },
      endpoints: pack.endpoints,
      blocked: report.available ? blockedIn(pack, report.name) : (report.reason ?? report.detail),
    }
  })
}

const noLimits = { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null }
