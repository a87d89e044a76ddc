import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createArtifacts } from './artifacts/store.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Sealer } from './credentials/credentials.ts'
import { keysFromEnvironment } from './credentials/environment.ts'
import { redactLookalikes as lookalikes } from './credentials/lookalikes.ts'
import { maskedGateway } from './credentials/masked-gateway.ts'
import { maskedHistory } from './credentials/masked-history.ts'
import { createMasks } from './credentials/masks.ts'
import { createModelKeys } from './credentials/model-keys.ts'
import { createVaultRecord } from './credentials/record.ts'
import { createTyped } from './credentials/typed.ts'
import { createVault } from './credentials/vault.ts'
import { probeSandbox } from './doctor.ts'
import { KernelError } from './errors.ts'
import { createExecutors } from './executor/executors.ts'
import { createReplays } from './executor/replay/replays.ts'
import { createExports } from './exports/desk.ts'
import { createGuardian } from './guardian/mechanism.ts'
import { createOpinions } from './guardian/opinion.ts'
import { watchDisk } from './history/disk.ts'
import type { History, VerifyReport } from './history/history.ts'
import { showFinding, watchIntegrity } from './history/integrity.ts'
import { openHistory } from './history/open.ts'
import { createModelCards } from './models/cards.ts'
import { createGateway } from './models/gateway.ts'
import { createModelChoice } from './models/model-choice.ts'
import { openOperatorPrices } from './models/operator-prices.ts'
import { createOwnCalls } from './models/own-calls.ts'
import { createPriceTable } from './models/prices.ts'
import { endpointProblem } from './models/reachable.ts'
import { openSharedBudgets } from './models/shared-budgets.ts'
import { createTokenCounter } from './models/tokens.ts'
import { recordNotices, rememberPutAway } from './notice-record.ts'
import { createNotices } from './notices.ts'
import { createArtifactDesk } from './operator/artifacts.ts'
import { createBudgetDesk } from './operator/budgets.ts'
import { createCostDesk } from './operator/cost.ts'
import { createCredentials } from './operator/credentials.ts'
import { createHistoryDesk } from './operator/history.ts'
import { createNoticeDesk } from './operator/notices.ts'
import { reviewerHealth } from './operator/reviewer.ts'
import { createRouter, type OperatorRouter } from './operator/router.ts'
import { createSettingsDesk } from './operator/settings.ts'
import { recoverySummary } from './recovered.ts'
import { type KernelResources, readSeed } from './resources.ts'
import { createRevisions } from './revisions/tree.ts'
import { type DockerConfig, dockerProvider } from './sandbox/docker/provider.ts'
import { noteDocker } from './sandbox/docker-notice.ts'
import * as files from './sandbox/files.ts'
import { intakePolicy, layPolicy } from './sandbox/intake.ts'
import { localProvider } from './sandbox/local.ts'
import { chooseProvider } from './sandbox/providers.ts'
import { standingSandboxes } from './sandbox/standing/standing.ts'
import { hostStatus, packRows } from './status.ts'
import { holdLock } from './store/lock.ts'
import { recordedSuspension, type Suspension } from './suspension.ts'
import { instructionOf } from './tasks/endpoint-address.ts'
import { protectedTexts } from './tasks/protected-texts.ts'
import { createTasks } from './tasks/registry.ts'
import type { Tasks } from './tasks/tasks.ts'
import { createToolDesk } from './tools/desk.ts'
import { createQuarantine } from './tools/quarantine.ts'
import { createTrials } from './trials/engine.ts'
import type { Trials } from './trials/trials.ts'
import { draft, type EventData } from './wire/events.ts'
import type { HostStatus } from './wire/operator.ts'

export type { Sealer } from './credentials/credentials.ts'
export { passphraseSealer } from './credentials/passphrase.ts'
export { type BaseImageSource, type Examined, makeBaseImage, probeSandbox } from './doctor.ts'
export { KernelError } from './errors.ts'
export { importBundle } from './exports/bundle.ts'
export { verifyDataDir } from './history/verify-only.ts'
export type { KernelResources } from './resources.ts'

export interface KernelConfig {
  /** Everything durable; created where it is missing. A second kernel on it is refused. */
  dataDir: string
  host: EventData<'kernel.started'>['host']
  version: string
  /** Names the operator contract that this was built with. */
  contract?: string | null
  /** Taken once, here: where keys are looked up by name. */
  env: Record<string, string | undefined>
  resources: KernelResources
  simulator: Simulator
  /** The engine that boxes are asked of first. Absent: there is none. */
  docker?: Pick<DockerConfig, 'socketPath' | 'image' | 'runtime'>
  /** What can seal keys at rest here, in order of preference. Default: nothing, and keys come from the environment alone. */
  sealers?: readonly Sealer[]
  clock?: Clock
  /** Steps of probation of a new activation. Default 10. */
  probationSteps?: number
  turnLimits?: { maxSteps: number; maxMs: number }
  /** Texts name commands as `exodesk COMMAND`: this gives them as they are typed where the host runs. Default: as they are. */
  hint?: (text: string) => string
  /** Whether tasks that were not over go on. Default true; false: a host for one question leaves them for the next start. */
  proceed?: boolean
}

/** The offline model server; started by the host at first use. */
export interface Simulator {
  /** Models that it plays, known without starting it. */
  models: { name: string; description: string }[]
  /** Its base URL, without `/v1`. */
  start(): Promise<{ origin: string }>
}

export interface Kernel {
  readonly operator: OperatorRouter
  readonly history: History
  readonly tasks: Tasks
  readonly trials: Trials
  status(): Promise<HostStatus>
  /** The text with every key that the kernel knows masked: for whatever a host writes to a screen or a file. */
  redact(text: string): string
  /** What the host knows of its sleep; without a word it is noticed all the same. */
  readonly power: Pick<Suspension, 'suspending' | 'look'>
  /** Quit: running tasks are interrupted and go on at the next start. */
  close(): Promise<void>
}

/**
 * Puts the kernel together, recovers what a kill left open, and lets the tasks that were not over go on.
 * @throws KernelError `conflict` (another host holds the data directory), `internal` or `unavailable` (the store; says what to do).
 */
export async function openKernel(config: KernelConfig): Promise<Kernel> {
  const opened: Closing[] = []
  try {
    return await assemble(config, opened)
  } catch (error) {
    await closeAll(opened).catch(() => {})
    throw error
  }
}

/** Undoes one thing that was opened. */
type Closing = () => Promise<void> | void

/** In reverse order; what cannot be closed keeps nothing else from it. @throws the first error, once all is closed. */
async function closeAll(opened: Closing[]): Promise<void> {
  const errors: unknown[] = []
  for (const close of opened.splice(0).reverse()) {
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** @param opened gets what is to be closed, in order of opening. */
async function assemble(config: KernelConfig, opened: Closing[]): Promise<Kernel> {
  const suspension = recordedSuspension(config.clock ?? systemClock)
  opened.push(() => suspension.close())
  const { clock } = suspension
  const startedAt = clock.now()
  const notices = createNotices()
  const boxesDir = join(config.dataDir, 'boxes')
  const { resources, hint = (text: string) => text } = config
  const lock = holdLock(config.dataDir)
  opened.push(() => lock.release())
  const masks = createMasks()
  const stored = await openHistory({
    dataDir: config.dataDir,
    clock,
    version: config.version,
    ...(resources.writer === undefined ? {} : { writerUrl: resources.writer }),
  })
  opened.push(() => stored.close())
  const history = maskedHistory(stored, masks)
  await mkdir(boxesDir, { recursive: true }).catch(async (error: Error) => {
    await history.close()
    lock.release()
    throw new KernelError('unavailable', `${boxesDir} must be a folder that can be written: ${error.message}`)
  })
  const boxes = { boxesDir, nodePath: resources.node, checkerMounts: resources.checker, clock }
  const provider = chooseProvider([
    ...(config.docker === undefined ? [] : [dockerProvider({ ...boxes, ...config.docker })]),
    localProvider(boxes),
  ])
  opened.push(() => provider.close())
  const cards = createModelCards()
  const keys = keysFromEnvironment(config.env, masks)
  const file = join(config.dataDir, 'credentials.json')
  const vault = createVault({ file, sealers: config.sealers ?? [], masks, clock })
  opened.push(() => vault.close())
  const record = createVaultRecord(history, vault)
  const modelKeys = createModelKeys(keys, vault, notices)
  const typed = createTyped(masks, notices)
  const counter = createTokenCounter()
  const shared = await openSharedBudgets({ history, clock, notices })
  const prices = await openOperatorPrices({ history, clock })
  const table = createPriceTable({ cards, overrides: prices.list })
  const open = createGateway({
    clock,
    prices: table,
    cards,
    counter,
    keys: modelKeys.take,
    redact: masks.redact,
    keyStart: masks.keyStart,
    shared,
  })
  const gateway = maskedGateway(open, masks)
  const artifacts = createArtifacts({ history })
  const revisions = createRevisions({ history, boxesDir, wireSource: await readFile(resources.wire, 'utf8') })
  const quarantine = createQuarantine(history)
  opened.push(() => quarantine.close())
  const known = { history, artifacts, revisions, gateway, provider, clock, tokens: counter, quarantine }
  const executors = createExecutors({ ...known, files, policy: () => guardian })
  opened.push(() => executors.close())
  const guardian = await createGuardian({
    history,
    revisions,
    artifacts,
    provider,
    clock,
    executors: () => executors,
    replays: createReplays({ ...known, instructionOf }),
    intake: { intakePolicy, layPolicy },
    protectedTexts: protectedTexts({ history, packsRoot: resources.packsRoot }),
    notices,
    probationSteps: config.probationSteps ?? 10,
  })
  opened.push(() => guardian.close())
  const models = createModelChoice(config.simulator, cards, modelKeys.ready)
  const tasks = await createTasks({
    history,
    gateway,
    guardian,
    executors,
    provider,
    standing: standingSandboxes({ provider, clock, source: await readFile(resources.commandServer, 'utf8') }),
    clock,
    notices,
    boxesDir,
    packsRoot: resources.packsRoot,
    turnLimits: config.turnLimits ?? { maxSteps: 50, maxMs: 30 * 60_000 },
    seed: () => readSeed(resources.seed),
    chooseModel: models.choose,
    requireKey: modelKeys.require,
    reports: provider.reports,
    typed,
    endpointProblem,
    resolveModel: models.resolve,
  })
  opened.push(() => tasks.close())
  const simulated = config.simulator.models.map((model) => ({ ...model, simulated: true }))
  const isSimulated = (name: string) => simulated.some((model) => model.name === name)
  const calls = createOwnCalls({ history, gateway, tokens: counter, isSimulated })
  opened.push(() => calls.close())
  const asking = { calls, ...models, requireKey: modelKeys.require }
  const opinions = createOpinions({ history, guardian, revisions, ...asking })
  const trials = await createTrials({ history, guardian, tasks, gateway, resolve: models.resolve })
  opened.push(() => trials.close())

  let recovered: HostStatus['recovered'] = null
  let verified = await verifyQuickly()
  opened.push(watchIntegrity({ dataDir: config.dataDir, history, notices, clock, verified: keepVerified }))
  const disk = watchDisk({ dataDir: config.dataDir, history, notices, tasks })
  opened.push(() => disk.close())
  // A history that does not verify is shown, and nothing is added to it.
  if (history.problem === null) await begin()

  async function begin(): Promise<void> {
    await history.append([
      draft(
        'kernel.started',
        { version: config.version, host: config.host, node: process.versions.node, pid: process.pid },
        { actor: 'kernel' },
      ),
    ])
    suspension.recordIn(history)
    await rememberPutAway(notices, history)
    opened.push(recordNotices(notices, history))
    // Keys that tasks of an earlier start were given are known from the beginning on.
    for (const { model } of tasks.states()) await modelKeys.require(model).catch(() => {})
    await record('kernel').catch(({ message }: Error) =>
      notices.raise({ id: 'credentials', severity: 'warning', text: message, fix: null, task: null }),
    )
    noteDocker(await provider.reports(), notices)
    recovered = await recover()
    if (config.proceed ?? true) {
      await tasks.proceed()
      await disk.resume()
    }
  }

  async function recover(): Promise<HostStatus['recovered']> {
    const report = await provider.report()
    const boxesReaped = report.available ? await provider.reap() : 0
    const work = await tasks.recover()
    const policy = await guardian.recover()
    const trialsClosed = await trials.recover()
    await calls.recover()
    const closed =
      work.openCallsClosed + work.turnsInterrupted + policy.activationsResolved + policy.checksRestarted + trialsClosed
    // After an orderly end nothing is recovered: what was not over goes on, and that shows in the task itself.
    if (closed + boxesReaped === 0) return null
    const goingOn = (config.proceed ?? true) ? work.tasks.filter((task) => !work.resting.includes(task)) : []
    const summary = recoverySummary(history.head()?.seq ?? 0, {
      ...work,
      ...policy,
      ...{ tasksGoingOn: goingOn, trialsClosed, boxesReaped },
    })
    const [event] = await history.append([
      draft(
        'kernel.recovered',
        {
          summary,
          openCallsClosed: work.openCallsClosed,
          turnsInterrupted: work.turnsInterrupted,
          reservationsCharged: work.reservationsCharged,
          activationsResolved: policy.activationsResolved,
          boxesReaped,
          tasks: work.tasks,
        },
        { actor: 'kernel' },
      ),
    ])
    return { at: event?.at ?? clock.now(), summary }
  }

  function keepVerified(report: VerifyReport): void {
    verified = { ok: report.ok, events: report.events, at: clock.now(), problem: report.problem }
    showFinding(notices, report)
  }

  async function verifyQuickly(): Promise<HostStatus['verified']> {
    const report = await history.verify({ full: false })
    return {
      ok: report.ok && (history.problem === null || history.imported !== null),
      events: report.events,
      at: clock.now(),
      problem: history.imported === null ? (history.problem ?? report.problem) : report.problem,
    }
  }

  const status = (): Promise<HostStatus> =>
    hostStatus(
      { history, guardian, tasks, trials, provider, reports: provider.reports, notices, clock, hint },
      {
        version: config.version,
        contract: config.contract ?? null,
        host: config.host,
        dataDir: config.dataDir,
        startedAt,
        recovered,
        verified,
        models: simulated,
      },
    )

  const credentials = createCredentials({ vault, history, tasks, record, proceeds: config.proceed ?? true })
  const operator = createRouter({
    history,
    notices: createNoticeDesk({ history, notices, hint }),
    guardian,
    revisions,
    tasks,
    packs: () => packRows(resources, provider),
    credentials,
    budgets: createBudgetDesk({ shared, history }),
    prices,
    cost: createCostDesk({ history, tasks, shared, prices, table, clock }),
    typed,
    hint,
    status,
    ensureAgent: async (agent) => {
      if ((await guardian.active(agent)) === null) await guardian.createAgent(agent, await readSeed(resources.seed))
    },
    exports: createExports({ ...config, history, clock, keys: masks.redact, lookalikes, writerUrl: resources.writer }),
    historyDesk: createHistoryDesk({ history, verified: keepVerified }),
    trials,
    opinions,
    toolDesk: createToolDesk({ history, revisions, quarantine, tokens: counter, clock, read: guardian.reach }),
    artifactDesk: createArtifactDesk({ history, artifacts }),
    reviewerHealth: (days) => reviewerHealth(history, clock, days),
    settings: createSettingsDesk({
      ...{ dataDir: config.dataDir, hint, status, redact: masks.redact, keys: credentials.status, ...asking },
      examine: () => probeSandbox(resources, config.docker),
    }),
  })

  return {
    operator,
    history,
    tasks,
    trials,
    status,
    redact: masks.redact,
    power: suspension,
    close: () => closeAll(opened),
  }
}
