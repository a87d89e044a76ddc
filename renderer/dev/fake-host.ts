// Long because: it invents every procedure of the contract.
import { ORPCError } from '@orpc/server'
import type { EventRow, TaskSummary } from '../../kernel/wire/operator.ts'
import { os } from './fake-contract.ts'
import { fakeCost } from './fake-cost.ts'
import { compareTrees } from './fake-diff.ts'
import { fakeEffects } from './fake-effects.ts'
import { fakeEvents } from './fake-events.ts'
import { fakeExports } from './fake-exports.ts'
import { hash } from './fake-hash.ts'
import { fakeReview } from './fake-review.ts'
import { fakeSettings } from './fake-settings.ts'
import { fakeTools } from './fake-tools.ts'
import type { FakeWorld } from './fake-world.ts'

/** The whole operator contract over an invented world. */
export function fakeHost(world: FakeWorld) {
  /** Regressed, and left as it is. */
  const kept = new Set<number>()
  const taskOf = (): TaskSummary => taskSummary(world)
  const marked = (kind: EventRow['kind'], data: EventRow['data']) => ({
    seq: world.append({ kind, task: 'T-1', actor: 'operator', data }).seq,
  })

  const none = (): never => {
    throw new ORPCError('UNAVAILABLE', { message: 'The invented host has none of it.' })
  }

  return os.router({
    notices: {
      putAway: os.notices.putAway.handler(({ input: { id, text } }) => {
        world.notices = world.notices.map((one) => (one.id === id ? { ...one, isPutAway: true } : one))
        return marked('notice.put-away', { id, text })
      }),
    },
    host: {
      status: os.host.status.handler(() => ({
        version: '0.1.0',
        host: 'headless' as const,
        dataDir: '/home/me/.local/share/exodesk',
        startedAt: world.events[0]?.at ?? 0,
        sandbox: world.sandboxMissing
          ? {
              available: false,
              provider: null,
              detail: '',
              reason: 'Neither Docker nor bubblewrap answers, so no task can be run.',
              fix: 'sudo apt-get install bubblewrap',
              providers: [],
            }
          : {
              available: true,
              provider: 'local' as const,
              detail: 'bubblewrap 0.8.0',
              reason: null,
              fix: null,
              providers: [],
            },
        notices: world.notices,
        recovered: world.recovered
          ? {
              at: Date.now() - 60_000,
              summary: 'T-1 was interrupted at step 132. 1 open tool call was closed as interrupted; nothing was lost.',
            }
          : null,
        verified: { ok: true, events: world.events.length, at: Date.now() - 30_000, problem: null },
        running: !world.isEmpty && world.state === 'running' ? 1 : 0,
        trials: 0,
        decisions: world.proposals.filter((p) => p.state === 'ready').length,
        todayNanoUsd: taskOf().totals.costNanoUsd,
        todaySimulated: true,
        cachedShare: taskOf().totals.cachedShare,
        models: [{ name: 'sim-apprentice', simulated: true, description: 'Offline model: no key, no cost' }],
        unattended: false,
        lastSeq: world.events.length,
        contract: null,
      })),
      pauseAll: os.host.pauseAll.handler(() => {
        world.state = 'paused'
        marked('task.paused', { reason: 'all paused', by: 'operator' })
        return { paused: ['T-1'] }
      }),
      resumeAll: os.host.resumeAll.handler(() => {
        world.state = 'running'
        marked('task.resumed', { by: 'operator' })
        return { resumed: ['T-1'], left: [] }
      }),
    },
    credentials: {
      status: os.credentials.status.handler(() => ({
        state: 'open' as const,
        sealer: 'keychain' as const,
        problem: null,
        wantsPassphrase: false,
        keys: [sealed('openai', 'https://api.openai.com'), sealed('lab', 'http://127.0.0.1:8000')],
      })),
      put: os.credentials.put.handler(({ input }) => sealed(input.name, new URL(input.baseUrl).origin)),
      remove: os.credentials.remove.handler(() => ({ seq: 1 })),
      unlock: os.credentials.unlock.handler(() => ({ resumed: [] })),
    },
    packs: {
      list: os.packs.list.handler(() => [
        {
          pack: 'hollowmere',
          name: 'hollowmere',
          description: 'Master three trades in a small seeded world, with as few tokens as you can.',
          goal: { goal: 1500, unit: 'xp', source: 'measured' as const },
          limits: { budgetNanoUsd: 2e9, budgetTokens: null, maxSteps: 400, maxMs: null },
          endpoints: [],
          blocked: null,
        },
      ]),
    },
    budgets: {
      get: os.budgets.get.handler(() => [
        {
          ...{ scope: 'day' as const, agent: null, limitNanoUsd: 5e9, limitTokens: null, spentTokens: 0 },
          spentNanoUsd: taskOf().totals.costNanoUsd ?? 0,
        },
      ]),
      set: os.budgets.set.handler(({ input }) =>
        marked('budget.set', { scope: 'day', agent: input.agent, nanoUsd: input.nanoUsd ?? null, tokens: null }),
      ),
    },
    prices: {
      list: os.prices.list.handler(() => []),
      set: os.prices.set.handler(({ input }) =>
        marked('price.changed', { version: input.name, source: 'set by the operator', models: 1 }),
      ),
    },
    snapshots: {
      list: os.snapshots.list.handler(() => []),
      take: os.snapshots.take.handler(({ input }) => ({ name: input.name, at: Date.now(), sizeBytes: 4096 })),
      restore: os.snapshots.restore.handler(({ input }) => marked('sandbox.restored', { name: input.name })),
    },
    agents: {
      fork: os.agents.fork.handler(() => {
        throw new ORPCError('UNAVAILABLE', { message: 'this host keeps nothing' })
      }),
      leaveSafeMode: os.agents.leaveSafeMode.handler(({ input }) => marked('agent.released', { reason: input.reason })),
      list: os.agents.list.handler(() =>
        world.isEmpty
          ? []
          : [
              {
                agent: 'scout',
                activation: world.activation,
                revision: world.active(),
                createdAt: world.events[0]?.at ?? 0,
                tasks: 2,
                regressed: fakeEffects(world, kept).find(({ regressed }) => regressed?.isOpen)?.regressed ?? null,
                runningTask: world.state === 'running' ? 'T-1' : null,
              },
            ],
      ),
    },
    digest: {
      since: os.digest.since.handler(({ input }) => ({
        ...{ since: input.since, activated: 2, rolledBack: 1, rejected: 1, expired: 1 },
        finished: { completed: 2, failed: 1, stopped: 0, budget: 0, claimed: 0 },
        ...{ costNanoUsd: 1_210_000_000, modelCalls: 212, isSimulated: true },
      })),
    },
    cost: fakeCost(world, world.costFails),
    tasks: {
      raiseBudget: os.tasks.raiseBudget.handler(({ input }) =>
        marked('budget.raised', { budget: 'usd', from: 0, to: input.budgetNanoUsd ?? 0 }),
      ),
      list: os.tasks.list.handler(() => (world.isEmpty ? [] : [taskOf(), finishedTask(world)])),
      get: os.tasks.get.handler(({ input }) => ({
        ...(input.task === 'T-1' ? taskOf() : finishedTask(world)),
        instruction: 'Master fishing, woodcutting and mining.',
      })),
      run: os.tasks.run.handler(() => {
        world.isEmpty = false
        return { task: 'T-1', agent: 'scout', seq: world.append({ kind: 'task.started', task: 'T-1', data: {} }).seq }
      }),
      pause: os.tasks.pause.handler(() => {
        world.state = 'paused'
        return marked('task.paused', { reason: 'asked by the operator', by: 'operator' })
      }),
      resume: os.tasks.resume.handler(() => {
        world.state = 'running'
        return marked('task.resumed', { by: 'operator' })
      }),
      stop: os.tasks.stop.handler(() => {
        world.state = 'finished'
        return marked('task.finished', { outcome: 'stopped', reason: 'stopped by the operator', progress: null })
      }),
      steer: os.tasks.steer.handler(({ input }) => marked('task.steered', { text: input.text })),
      answer: os.tasks.answer.handler(({ input }) => marked('task.answered', { text: input.text })),
      series: os.tasks.series.handler(() => ({
        steps: world.steps,
        activations: world.activations(),
        unit: 'xp',
        goal: 1500,
      })),
      decisionTime: os.tasks.decisionTime.handler(() => ({
        windowMs: 900_000 as const,
        activeMs: 2_760_000,
        windows: [820, 910, 640, 1180].map((medianMs, index) => ({
          ...{ fromMs: index * 900_000, decisions: 34 + index, medianMs, longestMs: medianMs * 4 },
        })),
      })),
      frame: os.tasks.frame.handler(() => ({ text: frame(world), at: Date.now() })),
      report: os.tasks.report.handler(() => {
        throw new ORPCError('NOT_IMPLEMENTED', { message: 'the fake has no report' })
      }),
    },
    events: {
      read: os.events.read.handler(({ input }) => {
        const limit = input.limit ?? 100
        const text = input.text?.toLowerCase()
        const found = world.events.filter(
          (event) =>
            (!input.task || event.task === input.task) &&
            (!input.agent || event.agent === input.agent) &&
            (input.after === undefined || event.seq > input.after) &&
            (input.before === undefined || event.seq < input.before) &&
            (!input.kinds || input.kinds.includes(event.kind)) &&
            (!text || JSON.stringify(event.data).toLowerCase().includes(text)),
        )
        const page = input.order === 'desc' ? found.slice(-limit).reverse() : found.slice(0, limit)
        return { events: page, next: found.length > limit ? (page.at(-1)?.seq ?? null) : null }
      }),
      ...fakeEvents(world),
      get: os.events.get.handler(({ input }) => {
        const event = world.events[input.seq - 1]
        if (!event) throw new ORPCError('NOT_FOUND', { message: `no event ${input.seq}` })
        return { ...event, prevHash: hash(input.seq - 1), hash: hash(input.seq) }
      }),
      follow: os.events.follow.handler(async function* ({ input, signal }) {
        let after = input.after
        let wake = () => {}
        const listener = () => wake()
        world.listeners.add(listener)
        signal?.addEventListener('abort', listener)
        try {
          while (!signal?.aborted) {
            const batch = world.events
              .filter((event) => event.seq > after && (!input.task || event.task === input.task))
              .slice(0, 500)
            const last = batch.at(-1)
            if (last) {
              after = last.seq
              yield batch
            } else
              await new Promise<void>((resolve) => {
                wake = resolve
              })
          }
        } finally {
          world.listeners.delete(listener)
        }
      }),
      blob: os.events.blob.handler(() => ({
        text: '{"type":"function_call","name":"shell"}',
        totalBytes: 40,
        binary: false,
      })),
    },
    ...fakeReview(world),
    ...fakeSettings(world),
    rules: {
      list: os.rules.list.handler(() => []),
      preview: os.rules.preview.handler(none),
      add: os.rules.add.handler(none),
      revoke: os.rules.revoke.handler(none),
    },
    profile: { get: os.profile.get.handler(none), set: os.profile.set.handler(none) },
    ...fakeTools(world),
    revisions: {
      effects: os.revisions.effects.handler(() => fakeEffects(world, kept)),
      keep: os.revisions.keep.handler(({ input }) => {
        kept.add(input.activation)
        return { seq: world.events.length }
      }),
      list: os.revisions.list.handler(() => {
        const points = world.activations()
        return world.revisions.map((row, index) => {
          const point = points[index]
          return point
            ? {
                ...row,
                steps: point.steps,
                costNanoUsd: point.costNanoUsd,
                progressDelta: point.progressDelta,
                cachedShare: point.cachedShare,
              }
            : row
        })
      }),
      files: os.revisions.files.handler(({ input }) =>
        Object.entries(world.treeOf(input.revision)).map(([path, text]) => ({ path, text })),
      ),
      compare: os.revisions.compare.handler(({ input }) =>
        compareTrees(world.treeOf(input.from), world.treeOf(input.to)),
      ),
      rollbackPreview: os.revisions.rollbackPreview.handler(({ input }) => ({
        from: { activation: world.activation, revision: world.active() },
        to: { activation: input.activation, revision: world.revisions[input.activation - 1]?.revision ?? hash(1) },
        files: [
          { path: 'loop.ts', change: 'changed' as const, addedLines: 2, removedLines: 3 },
          { path: 'tools/gather.ts', change: 'removed' as const, addedLines: 0, removedLines: 11 },
        ],
        toolsRemoved: ['gather'],
        toolsRestored: [],
        effects: [
          'T-1 goes on with the older content at its next safe point.',
          'The sandbox stays as it is; the agent’s working copy stays as it is.',
        ],
        resulting: `r${world.activation + 1} = content of r${input.activation}`,
      })),
      rollback: os.revisions.rollback.handler(({ input }) => {
        if (input.expectActive !== world.active())
          throw new ORPCError('CONFLICT', { message: 'another revision is active now' })
        world.activate('rollback', world.revisions[input.activation - 1]?.revision ?? hash(1), null)
        return { seq: world.events.length, activation: world.activation, revision: world.active() }
      }),
    },
    exports: fakeExports,
    history: {
      verify: os.history.verify.handler(() => ({
        ok: true,
        events: world.events.length,
        head: hash(99),
        firstBadSeq: null,
        problem: null,
        of: null,
        notes: [],
      })),
      backup: os.history.backup.handler(() => {
        throw new ORPCError('UNAVAILABLE', { message: 'this host keeps nothing' })
      }),
      archive: os.history.archive.handler(() => ({ files: [], blobs: 0, sizeBytes: 0 })),
    },
  })
}

function taskSummary(world: FakeWorld): TaskSummary {
  const points = world.activations()
  const sum = (key: 'uncached' | 'cacheRead' | 'cacheWrite' | 'output') =>
    points.reduce((total, point) => total + point[key], 0)
  const input = sum('uncached') + sum('cacheRead') + sum('cacheWrite')
  return {
    task: 'T-1',
    agent: 'scout',
    title: 'Hollowmere: master three trades',
    pack: 'hollowmere',
    state: world.state,
    reason: null,
    outcome: world.state === 'finished' ? 'stopped' : null,
    activation: world.activation,
    revision: world.active(),
    model: { name: 'sim-apprentice', api: 'responses', baseUrl: 'http://127.0.0.1:9', keyEnv: null, simulated: true },
    sandbox: 'local',
    propose: true,
    approve: 'none',
    seed: 7,
    limits: { budgetNanoUsd: 2e9, budgetTokens: null, maxSteps: 400, maxMs: null },
    progress: { value: world.progress, goal: 1500, unit: 'xp', source: 'measured' },
    totals: {
      uncached: sum('uncached'),
      cacheRead: sum('cacheRead'),
      cacheWrite: sum('cacheWrite'),
      output: sum('output'),
      reasoning: 0,
      steps: world.steps.length,
      modelCalls: world.steps.length,
      failedCalls: 0,
      costNanoUsd: points.reduce((total, point) => total + (point.costNanoUsd ?? 0), 0),
      cachedShare: input ? sum('cacheRead') / input : null,
    },
    createdAt: world.events[0]?.at ?? 0,
    lastEventAt: world.events.at(-1)?.at ?? 0,
    finishedAt: null,
    now: world.now,
  }
}

function finishedTask(world: FakeWorld): TaskSummary {
  const at = (world.events[0]?.at ?? 0) - 3_600_000
  return {
    ...taskSummary(world),
    task: 'T-2',
    title: 'Hollowmere: control, proposals off',
    state: 'finished',
    outcome: 'completed',
    now: null,
    finishedAt: at,
    createdAt: at - 900_000,
    lastEventAt: at,
    progress: { value: 1500, goal: 1500, unit: 'xp', source: 'measured' },
  }
}

function frame(world: FakeWorld): string {
  const filled = Math.min(20, Math.round(world.progress / 75))
  return [
    '  HOLLOWMERE   seed 7   action 212',
    '',
    '  @camp -- reeds -- eel pool (fish)',
    '        -- birch wood (timber)',
    '',
    `  fishing     ${'#'.repeat(filled)}${'.'.repeat(20 - filled)}  ${world.progress}/1500 xp`,
    '  bag ####....   in store 18',
    '',
    '  > You catch a silver eel.',
  ].join('\n')
}

function sealed(name: string, origin: string) {
  return { name, version: 1, origin, sealer: 'keychain' as const, sealedAt: Date.now() - 86_400_000 }
}
