import { isUtf8 } from 'node:buffer'
import { implement, ORPCError } from '@orpc/server'
import { KernelError, publicError } from '../errors.ts'
import type { Exports } from '../exports/exports.ts'
import type { Guardian, OpinionRequest } from '../guardian/guardian.ts'
import type { History, TaskTotals, View } from '../history/history.ts'
import type { OperatorPrices } from '../models/models.ts'
import type { Revisions } from '../revisions/revisions.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { ToolDesk } from '../tools/tools.ts'
import type { Trials } from '../trials/trials.ts'
import type { Event } from '../wire/events.ts'
import { type EventRow, type HostStatus, operatorContract, type PackRow } from '../wire/operator.ts'
import type { ReviewerHealth } from '../wire/operator-review.ts'
import { agentRows } from './agents.ts'
import type { createArtifactDesk } from './artifacts.ts'
import type { createBudgetDesk } from './budgets.ts'
import type { createCostDesk } from './cost.ts'
import type { createCredentials } from './credentials.ts'
import { createDecisionTime } from './decision-time.ts'
import { digestSince } from './digest.ts'
import { createEventDesk } from './events.ts'
import type { createHistoryDesk } from './history.ts'
import type { createNoticeDesk } from './notices.ts'
import { createPausing } from './pausing.ts'
import { createReviewDesk } from './review.ts'
import type { createSettingsDesk } from './settings.ts'
import { activationPoints, taskSeries } from './task-series.ts'

/** What the operator contract is served from; put together by kernel.ts. */
export interface OperatorParts {
  history: History
  guardian: Guardian
  revisions: Revisions
  tasks: Tasks
  packs(): Promise<PackRow[]>
  status(): Promise<HostStatus>
  credentials: ReturnType<typeof createCredentials>
  budgets: ReturnType<typeof createBudgetDesk>
  prices: OperatorPrices
  /** What a person wrote, with keys masked. */
  typed(text: string, what: string): string
  /** How commands are typed where the host runs. */
  hint(text: string): string
  /** Creates the agent with the starting policy where there is none of that name. */
  ensureAgent(agent: string): Promise<void>
  historyDesk: ReturnType<typeof createHistoryDesk>
  notices: ReturnType<typeof createNoticeDesk>
  exports: Exports
  trials: Trials
  opinions: { ask(request: OpinionRequest): Promise<{ seq: number }> }
  toolDesk: ToolDesk
  artifactDesk: ReturnType<typeof createArtifactDesk>
  reviewerHealth(days?: number): Promise<ReviewerHealth>
  settings: ReturnType<typeof createSettingsDesk>
  cost: ReturnType<typeof createCostDesk>
}

/** Which transport a call came by: a person's view, or a script. Both see and do the same. */
export interface OperatorContext {
  via: 'desktop' | 'websocket' | 'socket'
  /** Stands for the connection: a verdict is given in the one that its view was opened in. Absent: the host itself. */
  viewer?: object
}

const statusOf: Record<string, number> = {
  invalid: 400,
  'not-found': 404,
  forbidden: 403,
  conflict: 409,
  'over-budget': 402,
  unavailable: 503,
  cancelled: 499,
  internal: 500,
}

/** A KernelError as the contract's error: its code and text, never more than `publicError` lets out. */
function toOrpc(error: unknown, hint: (text: string) => string): never {
  if (error instanceof ORPCError) throw error
  const { code, message, details } = publicError(error)
  throw new ORPCError(code, { status: statusOf[code] ?? 500, message: hint(message), data: details })
}

export function createRouter(parts: OperatorParts) {
  const { history, guardian, revisions, tasks, trials, historyDesk, credentials, budgets, prices, typed, hint } = parts
  const { toolDesk, artifactDesk, settings } = parts
  const os = implement(operatorContract)
    .$context<OperatorContext>()
    .use(async ({ next }) => {
      try {
        return await next()
      } catch (error) {
        return toOrpc(error, hint)
      }
    })

  const review = createReviewDesk(guardian, typed)
  const decisionTime = createDecisionTime({ history, tasks })
  const events = createEventDesk({ history, typed })
  const pausing = createPausing(tasks)

  /** With the commands that its reason names as they are typed here. */
  const hinted = <T extends { reason: string | null }>(task: T): T => ({
    ...task,
    reason: task.reason && hint(task.reason),
  })

  return os.router({
    host: {
      status: os.host.status.handler(() => parts.status()),
      pauseAll: os.host.pauseAll.handler(() => pausing.pauseAll()),
      resumeAll: os.host.resumeAll.handler(() => pausing.resumeAll()),
    },
    settings: {
      preferences: os.settings.preferences.handler(() => settings.preferences()),
      setPreferences: os.settings.setPreferences.handler(({ input }) => settings.setPreferences(input)),
      sizes: os.settings.sizes.handler(() => settings.sizes()),
      examineSandbox: os.settings.examineSandbox.handler(() => settings.examineSandbox()),
      testModel: os.settings.testModel.handler(({ input }) => settings.testModel(input)),
      diagnostics: os.settings.diagnostics.handler(() => settings.diagnostics()),
    },
    packs: { list: os.packs.list.handler(() => parts.packs()) },
    budgets: {
      get: os.budgets.get.handler(() => budgets.get()),
      set: os.budgets.set.handler(({ input }) => budgets.set(input)),
    },
    prices: {
      list: os.prices.list.handler(() => [...prices.list()]),
      set: os.prices.set.handler(async ({ input }) => ({ seq: await prices.set(input) })),
    },
    notices: { putAway: os.notices.putAway.handler(({ input }) => parts.notices.putAway(input)) },
    digest: { since: os.digest.since.handler(({ input }) => digestSince({ history, tasks }, input.since)) },
    cost: {
      report: os.cost.report.handler(({ input }) => parts.cost.report(input.scope)),
      difference: os.cost.difference.handler(({ input }) => parts.cost.difference(input.seq)),
      prices: os.cost.prices.handler(() => parts.cost.prices()),
    },
    snapshots: {
      list: os.snapshots.list.handler(({ input }) => tasks.snapshots(input.task)),
      take: os.snapshots.take.handler(({ input }) => tasks.snapshot(input.task, input.name)),
      restore: os.snapshots.restore.handler(({ input }) => tasks.restore(input.task, input.name)),
    },
    credentials: {
      status: os.credentials.status.handler(() => credentials.status()),
      put: os.credentials.put.handler(({ input }) => credentials.put(input)),
      remove: os.credentials.remove.handler(({ input }) => credentials.remove(input)),
      unlock: os.credentials.unlock.handler(({ input }) => credentials.unlock(input)),
    },
    agents: {
      fork: os.agents.fork.handler(async ({ input: { agent, seq, name } }) => ({
        ...(await guardian.fork({ agent, seq }, name)),
        agent: name,
      })),
      leaveSafeMode: os.agents.leaveSafeMode.handler(async ({ input }) => {
        const left = await guardian.leaveSafeMode(input.agent, typed(input.reason, 'your reason'))
        await tasks.released(input.agent)
        return left
      }),
      list: os.agents.list.handler(() => agentRows(parts)),
    },
    tasks: {
      list: os.tasks.list.handler(async () => (await tasks.list()).map(hinted)),
      get: os.tasks.get.handler(async ({ input }) => hinted(await tasks.get(input.task))),
      run: os.tasks.run.handler(({ input }) => tasks.run(input)),
      pause: os.tasks.pause.handler(({ input }) => tasks.pause(input.task, 'operator', 'paused by the operator')),
      resume: os.tasks.resume.handler(({ input }) => tasks.resume(input.task)),
      stop: os.tasks.stop.handler(({ input }) => tasks.stop(input.task)),
      raiseBudget: os.tasks.raiseBudget.handler(({ input: { task, ...to } }) => tasks.raiseBudget(task, to)),
      steer: os.tasks.steer.handler(({ input }) =>
        tasks.steer(input.task, typed(input.text, 'what you told the agent')),
      ),
      answer: os.tasks.answer.handler(({ input }) => tasks.answer(input.task, typed(input.text, 'your answer'))),
      series: os.tasks.series.handler(({ input }) => taskSeries({ history, tasks }, input.task)),
      decisionTime: os.tasks.decisionTime.handler(({ input }) => decisionTime(input.task)),
      frame: os.tasks.frame.handler(({ input }) => tasks.frame(input.task)),
      report: os.tasks.report.handler(async ({ input }) => {
        const scope =
          input.task === undefined ? (input.agent === undefined ? {} : { agent: input.agent }) : { task: input.task }
        const own = tasks
          .states()
          .filter((task) =>
            input.task === undefined
              ? input.agent === undefined || task.agent === input.agent
              : task.task === input.task,
          )
        if (input.task !== undefined && own.length === 0)
          throw new KernelError('not-found', `there is no task ${input.task}`)
        const [total, byModel, byTool] = await Promise.all([
          history.totals(scope),
          history.byModel(scope),
          history.tools(scope),
        ])
        const perTask = input.task === undefined ? null : input.task
        return {
          total: usageRow('all', total, total.modelCalls, total.failedCalls),
          byModel: byModel.map(({ model, calls, failed, ...row }) => usageRow(model, row, calls, failed)),
          byActivation: perTask === null ? [] : await activationPoints(history, perTask),
          byTool,
          cacheBreaks: perTask === null ? [] : await history.cacheBreaks(perTask, 100),
          repeatedCalls: perTask === null ? [] : await history.repeatedCalls(perTask, 50),
          trials: await trials.totals(input),
          simulated: own.some((task) => task.simulated),
        }
      }),
    },
    events: {
      read: os.events.read.handler(async ({ input }) => {
        const { agent, text, order, ...options } = input
        const view: View = { agent: agent ?? null }
        // A search is newest first, whatever the order.
        const page =
          text === undefined || text === ''
            ? await history.read(view, { ...options, order })
            : await history.search(view, text, options)
        return { events: page.events.map(row), next: page.next }
      }),
      get: os.events.get.handler(async ({ input }) => {
        const event = await history.get({ agent: null }, input.seq)
        if (event === null) throw new KernelError('not-found', `there is no event ${input.seq}`)
        return { ...row(event), prevHash: event.prevHash, hash: event.hash }
      }),
      follow: os.events.follow.handler(async function* ({ input, signal }) {
        const stop = signal ?? new AbortController().signal
        for await (const batch of history.follow(
          { agent: input.agent ?? null },
          { after: input.after, task: input.task, signal: stop },
        )) {
          for (let from = 0; from < batch.length; from += 500) yield batch.slice(from, from + 500).map(row)
        }
      }),
      find: os.events.find.handler(async ({ input }) => {
        const page = await events.find(input)
        return { events: page.events.map(row), next: page.next }
      }),
      facets: os.events.facets.handler(({ input }) => events.facets(input.query)),
      past: os.events.past.handler(({ input }) => events.past(input.seq)),
      marks: os.events.marks.handler(() => events.marks()),
      note: os.events.note.handler(({ input }) => events.note(input.seq, input.text)),
      label: os.events.label.handler(({ input }) => events.label(input.seq, input.label, input.isSet)),
      blob: os.events.blob.handler(async ({ input }) => {
        const bytes = await history.getBlob(input.hash)
        const offset = input.offset ?? 0
        const part = bytes.subarray(offset, offset + (input.length ?? 262_144))
        const text = textOf(part, offset + part.length < bytes.length)
        return { text: text ?? part.toString('base64'), totalBytes: bytes.length, binary: text === null }
      }),
    },
    trials: {
      list: os.trials.list.handler(({ input }) => trials.list(input)),
      start: os.trials.start.handler(({ input, context }) => trials.start(by(context, input))),
      stop: os.trials.stop.handler(({ input }) => trials.stop(input.trial)),
    },
    rules: {
      list: os.rules.list.handler(() => guardian.rules.list()),
      preview: os.rules.preview.handler(({ input }) => guardian.rules.preview(input)),
      add: os.rules.add.handler(({ input }) => guardian.rules.add(input)),
      revoke: os.rules.revoke.handler(({ input }) => review.revokeRule(input.rule, input.reason)),
    },
    profile: {
      get: os.profile.get.handler(() => guardian.profile()),
      set: os.profile.set.handler(({ input }) => review.setProfile(input)),
    },
    reviewer: {
      health: os.reviewer.health.handler(({ input }) => parts.reviewerHealth(input.days)),
      opinion: os.reviewer.opinion.handler(({ input }) => parts.opinions.ask(input)),
    },
    tools: {
      list: os.tools.list.handler(({ input }) => toolDesk.list(input.agent)),
      get: os.tools.get.handler(({ input }) => toolDesk.get(input.agent, input.tool)),
      source: os.tools.source.handler(({ input }) => toolDesk.source(input.agent, input.tool, input.revision)),
      quarantine: os.tools.quarantine.handler(({ input }) =>
        toolDesk.quarantine(input.agent, input.tool, typed(input.reason, 'your reason')),
      ),
      release: os.tools.release.handler(({ input }) =>
        toolDesk.release(input.agent, input.tool, typed(input.reason, 'your reason')),
      ),
      audit: os.tools.audit.handler(({ input }) =>
        toolDesk.audit(input.agent, input.tool, input.hash, typed(input.note, 'your note')),
      ),
      askRetirement: os.tools.askRetirement.handler(({ input }) =>
        toolDesk.askRetirement(input.agent, input.tool, typed(input.reason, 'your reason')),
      ),
    },
    artifacts: {
      list: os.artifacts.list.handler(({ input }) => artifactDesk.list(input.agent)),
      versions: os.artifacts.versions.handler(({ input }) => artifactDesk.versions(input.agent, input.name)),
      read: os.artifacts.read.handler(({ input }) => artifactDesk.read(input.agent, input.name, input.version)),
    },
    proposals: {
      hunks: os.proposals.hunks.handler(({ input }) => guardian.hunks(input.agent, input.proposal)),
      look: os.proposals.look.handler(({ input: { agent, proposal, revision, path, viewed } }) =>
        guardian.look(agent, proposal, revision, path, viewed),
      ),
      derive: os.proposals.derive.handler(({ input, context }) => review.derive(by(context, input))),
      return: os.proposals.return.handler(({ input, context }) => review.return(by(context, input))),
      defer: os.proposals.defer.handler(({ input, context }) => review.defer(by(context, input))),
      list: os.proposals.list.handler(({ input }) => guardian.list(input)),
      get: os.proposals.get.handler(({ input }) => guardian.get(input.agent, input.proposal)),
      file: os.proposals.file.handler(({ input }) => guardian.file(input.agent, input.proposal, input.path)),
      view: os.proposals.view.handler(({ input, context }) =>
        guardian.view(input.agent, input.proposal, context.viewer),
      ),
      approve: os.proposals.approve.handler(({ input, context }) => review.approve(by(context, input))),
      reject: os.proposals.reject.handler(({ input, context }) => review.reject(by(context, input))),
      submit: os.proposals.submit.handler(async ({ input }) => {
        await parts.ensureAgent(input.agent)
        const why = typed(input.why, 'why you propose it')
        return guardian.submit(input.agent, input.tree, why, typed(input.claim ?? why.slice(0, 500), 'your claim'))
      }),
      withdraw: os.proposals.withdraw.handler(async ({ input }) => ({
        state: await guardian.withdraw(input.agent, input.proposal, 'operator'),
      })),
    },
    revisions: {
      effects: os.revisions.effects.handler(({ input }) => guardian.effects(input.agent)),
      keep: os.revisions.keep.handler(({ input }) =>
        guardian.keep(input.agent, input.activation, typed(input.reason, 'your reason')),
      ),
      list: os.revisions.list.handler(({ input }) => guardian.revisions(input.agent)),
      files: os.revisions.files.handler(({ input }) => revisions.read(input.revision)),
      compare: os.revisions.compare.handler(async ({ input }) => ({
        files: await revisions.changes(input.from, input.to),
        diff: revisions.diff(await revisions.read(input.from), await revisions.read(input.to), 1_048_576),
      })),
      rollbackPreview: os.revisions.rollbackPreview.handler(({ input }) =>
        guardian.rollbackPreview(input.agent, input.activation),
      ),
      rollback: os.revisions.rollback.handler(({ input }) =>
        guardian.rollback(input.agent, input.activation, input.expectActive, typed(input.reason ?? '', 'your reason')),
      ),
    },
    history: {
      verify: os.history.verify.handler(() => historyDesk.verify()),
      backup: os.history.backup.handler(({ input }) => historyDesk.backup(input.folder)),
      archive: os.history.archive.handler(({ input }) => historyDesk.archive(input.before, input.minBytes)),
    },
    exports: {
      preview: os.exports.preview.handler(({ input }) => parts.exports.preview(input)),
      write: os.exports.write.handler(({ input }) => parts.exports.write(input)),
      import: os.exports.import.handler(({ input }) => parts.exports.import(input.file, input.folder)),
    },
  })
}

const by = <T extends object>({ viewer }: OperatorContext, input: T): T & { viewer: object | undefined } => ({
  ...input,
  viewer,
})

export type OperatorRouter = ReturnType<typeof createRouter>

function row(event: Event): EventRow {
  const { prevHash: _prevHash, hash: _hash, ...shown } = event
  return shown as unknown as EventRow
}

/** Null where the bytes are not UTF-8. A character that the end of a range cuts is left to the next range. */
function textOf(bytes: Buffer, isCut: boolean): string | null {
  for (let cut = 0; cut <= (isCut ? 3 : 0); cut += 1) {
    const part = bytes.subarray(0, bytes.length - cut)
    if (isUtf8(part)) return part.toString('utf8')
  }
  return null
}

type Usage = Pick<TaskTotals, 'uncached' | 'cacheRead' | 'cacheWrite' | 'output' | 'reasoning' | 'costNanoUsd'>

function usageRow(key: string, usage: Usage, calls: number, failed: number) {
  const { uncached, cacheRead, cacheWrite, output, reasoning, costNanoUsd } = usage
  return { key, uncached, cacheRead, cacheWrite, output, reasoning, costNanoUsd, calls, failed }
}
