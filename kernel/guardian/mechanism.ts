import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft } from '../wire/events.ts'
import { createActivation } from './activation.ts'
import { createBindings } from './binding.ts'
import { sentenceOf } from './breach.ts'
import { createChecking } from './checking.ts'
import { Core, type GuardianParts } from './core.ts'
import { createDerive } from './derive.ts'
import { effectsOf } from './effects.ts'
import { createExpiry } from './expiry.ts'
import { fork } from './fork.ts'
import type { ActiveRevision, Guardian } from './guardian.ts'
import { Ledger } from './ledger.ts'
import { createLimits } from './limits.ts'
import { createProbation } from './probation.ts'
import { createProfile, lastProfile } from './profile.ts'
import { createProposing } from './proposing.ts'
import { reachOf } from './reach.ts'
import { createReview } from './review.ts'
import { createRollback } from './rollback.ts'
import { createRules } from './rules.ts'
import { isBreachOpen } from './state.ts'
import { createTrialGate, requireOrdinary } from './trial.ts'
import { createViews } from './views.ts'
import { createWorkingCopies } from './working-copy.ts'

export type { GuardianParts } from './core.ts'

/** Replays what history says of proposals and activations, and follows it from there. */
export async function createGuardian(parts: GuardianParts): Promise<Guardian> {
  const { history, revisions } = parts
  const ledger = await Ledger.open(history)
  const core = new Core(parts, ledger, await lastProfile(history))
  const activation = createActivation(core)
  const bindings = createBindings(core)
  const rules = createRules(core)
  const review = createReview(core, bindings, activation, rules)
  const checking = createChecking(core, (agent) => review.approveByItself(agent))
  const copies = createWorkingCopies(core)
  const proposing = createProposing(core, copies, checking)
  const derive = createDerive(core, bindings, checking)
  const expiry = createExpiry(core)
  const probation = createProbation(core)
  const limits = createLimits(core, activation)
  const rollback = createRollback(core, activation)
  const views = createViews(core, review)
  const profile = createProfile(core)
  let recorded: Promise<void> | undefined

  for (const { agent } of ledger.agents()) tell(agent)
  ledger.onChange = (agent) => {
    tell(agent)
    checking.notice(agent)
    expiry.schedule()
    core.background(agent, () => move(agent))
  }

  /** What follows by itself from the state as it is now. */
  async function move(agent: string): Promise<void> {
    if (core.closing.aborted) return
    await limits.look(agent)
    if (await probation.confirm(agent)) await review.approveByItself(agent)
  }

  function tell(agent: string): void {
    tellSafeMode(agent)
    limits.tell(agent)
  }

  function tellSafeMode(agent: string): void {
    const safe = ledger.find(agent)?.safeMode
    const id = `agent.safe-mode.${agent}`
    if (!safe) {
      parts.notices?.clear(id)
      return
    }
    parts.notices?.raise({
      ...{ id, severity: 'error', task: core.targets.get(agent)?.task ?? null },
      text: `Agent ${agent} is in safe mode, and no executor of it is started: ${safe.reason}`,
      fix: `Roll back, approve a mended proposal, or let r${safe.activation} try again: exodesk leave-safe-mode --agent ${agent}`,
    })
  }

  function active(agent: string): ActiveRevision | null {
    const now = ledger.active(agent)
    return now === null ? null : { revision: now.revision, activation: now.activation }
  }

  /** Before the first proposal of this process: which checks it will be held to. */
  async function ensureProfile(): Promise<void> {
    recorded ??= profile.ensure()
    recorded.catch(() => {
      recorded = undefined
    })
    await recorded
  }

  return {
    async createAgent(agent, seed) {
      core.requireOpen()
      const revision = await revisions.put(seed)
      await ledger.locked(agent, async () => {
        if (ledger.find(agent) !== undefined) throw new KernelError('conflict', `there is an agent ${agent} already`)
        const header = { actor: 'kernel', agent, revision } as const
        const activated = {
          activation: 1,
          revision,
          previous: null,
          cause: 'seed',
          proposal: null,
          probationSteps: 0,
        } as const
        failpoint('agent:before-created')
        await history.appendIfActive(agent, null, [
          draft('agent.created', { name: agent, revision }, header),
          draft('revision.authorised', { revision, by: 'seed', proposal: null }, header),
          draft('revision.activated', activated, header),
        ])
      })
      return { revision, activation: 1 }
    },

    fork: (parent, name) => fork(core, parent, name),
    trial: { ...createTrialGate(core, bindings), of: (agent) => ledger.find(agent)?.trial ?? null },

    // Behind a commit in progress: who starts what this names starts what is active.
    active: (agent) => ledger.locked(agent, async () => active(agent)),

    reach: (files) => reachOf(core.parts.provider, files),

    breach(agent) {
      const now = ledger.active(agent)
      if (now === null || now.breach === null || !isBreachOpen(now)) return null
      return { at: now.breach.at, text: sentenceOf(now.breach) }
    },

    attach(agent, target) {
      const other = core.targets.get(agent)
      if (other !== undefined) throw new KernelError('conflict', `agent ${agent} runs ${other.task} already`)
      core.targets.set(agent, target)
      core.background(agent, async () => {
        if (!(await review.takeUp(agent))) await review.approveByItself(agent)
      })
      return () => {
        if (core.targets.get(agent) === target) core.targets.delete(agent)
      }
    },

    layPolicy: (agent, box, task) => copies.lay(agent, box, task),
    status: async (agent, task) => copies.status(agent, task),
    diff: (agent, task) => copies.diff(agent, task),
    reset: (where, to) => copies.reset(where, to),
    async read(agent, path) {
      const { revision } = ledger.mustBeActive(agent)
      const file = (await revisions.read(revision)).find((one) => one.path === path)
      if (file === undefined) throw new KernelError('not-found', `the active revision has no file ${path}`)
      return file.text
    },

    async propose(where, params) {
      await ensureProfile()
      return proposing.propose(where, params)
    },
    async submit(agent, files, why, claim) {
      requireOrdinary(ledger.state(agent))
      await ensureProfile()
      return proposing.submit(agent, files, why, claim)
    },
    withdraw: (agent, proposal, by = 'executor') => proposing.withdraw(agent, proposal, by),

    list: async (filter) => views.list(filter),
    get: (agent, proposal) => views.get(agent, proposal),
    file: (agent, proposal, path) => views.file(agent, proposal, path),
    profile: () => profile.get(),
    async setProfile(change) {
      await ensureProfile()
      return profile.set(change)
    },
    view: async (agent, proposal, viewer) => bindings.view(agent, proposal, viewer),
    approve: (input) => review.approve(input),
    reject: (input) => review.reject(input),
    sendBack: (input) => review.sendBack(input),
    defer: (input) => review.defer(input),
    hunks: (agent, proposal) => derive.hunks(agent, proposal),
    derive: (input) => derive.derive(input),
    look: (agent, proposal, revision, path, viewed) => derive.look(agent, proposal, revision, path, viewed),
    rules,

    revisions: (agent) => views.revisions(agent),
    effects: (agent) => effectsOf(core, agent),
    keep: (agent, wanted, reason) => limits.keep(agent, wanted, reason),
    rollbackPreview: (agent, wanted) => rollback.preview(agent, wanted),
    rollback: (agent, wanted, expectActive, reason) => rollback.rollback(agent, wanted, expectActive, reason),

    generationFailed: (agent, failure) => probation.failed(agent, failure),
    safeMode: (agent) => ledger.find(agent)?.safeMode ?? null,
    leaveSafeMode: (agent, reason) => probation.leaveSafeMode(agent, reason),

    async recover() {
      await ensureProfile()
      await expiry.look()
      const recovered = { activationsResolved: 0, checksRestarted: 0 }
      for (const { agent, proposals } of ledger.agents()) {
        if (await review.takeUp(agent)) recovered.activationsResolved += 1
        for (const { proposal, state } of proposals) {
          if (state !== 'checking') continue
          checking.start(agent, proposal)
          recovered.checksRestarted += 1
        }
        core.background(agent, () => move(agent))
      }
      return recovered
    },

    settled: (agent) => core.settled(agent),
    async close() {
      probation.close()
      limits.close()
      expiry.close()
      await core.close()
    },
  }
}
