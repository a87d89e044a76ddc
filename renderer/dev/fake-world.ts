// An invented host for looking at the desk while it is built. Never part of the bundle: nothing in the page imports it.
import type {
  ActivationPoint,
  EventRow,
  Notice,
  ProposalDetail,
  RevisionRow,
  StepPoint,
  TaskSummary,
} from '../../kernel/wire/operator.ts'
import type { TrialRow } from '../../kernel/wire/operator-trials.ts'
import { hash } from './fake-hash.ts'
import { plan, planAll } from './fake-proposals.ts'
import { endlessTree, forgetTree, gatherTree, seedTree, type Tree } from './fake-tree.ts'

export const revisions = { seed: hash(1), second: hash(2), third: hash(3), bad: hash(4) }

type Draft = Partial<EventRow> & Pick<EventRow, 'kind' | 'data'>

export class FakeWorld {
  readonly events: EventRow[] = []
  readonly steps: StepPoint[] = []
  readonly proposals: ProposalDetail[] = []
  readonly revisions: RevisionRow[] = []
  /** By revision. */
  readonly trees = new Map<string, Tree>([[revisions.seed, seedTree]])
  readonly trials: TrialRow[] = []
  readonly listeners = new Set<(events: EventRow[]) => void>()
  state: TaskSummary['state'] = 'running'
  activation = 1
  progress = 0
  at: number
  nonces = 0
  now: TaskSummary['now'] = null
  recovered = true
  sandboxMissing = false
  notices: Notice[] = []
  isEmpty = false
  costFails = false

  constructor(isEmpty = false) {
    this.isEmpty = isEmpty
    this.at = Date.now() - 46 * 60_000
    this.append({ kind: 'kernel.started', data: { version: '0.1.0', host: 'headless', node: '24.21.0', pid: 41 } })
    if (isEmpty) return
    this.append({ kind: 'agent.created', data: { name: 'scout', revision: revisions.seed } })
    this.activate('seed', revisions.seed, null)
    this.append({ kind: 'task.created', task: 'T-1', data: { title: 'Hollowmere: master three trades' } })
    this.append({ kind: 'task.started', task: 'T-1', data: {} })
    for (let n = 0; n < 38; n++) this.step()
    plan(this, {
      proposal: 'P-1',
      state: 'rejected',
      claim: 'Drop the step limit so that turns never end',
      before: seedTree,
      after: endlessTree,
      revision: revisions.bad,
      reason: 'A turn without an end cannot be stopped safely.',
      category: 'unsafe',
    })
    for (let n = 0; n < 12; n++) this.step()
    const claim = 'Gather until the bag is full in one tool call'
    plan(this, {
      proposal: 'P-2',
      state: 'active',
      claim,
      before: seedTree,
      after: gatherTree,
      revision: revisions.second,
    })
    this.activate('proposal', revisions.second, 'P-2')
    for (let n = 0; n < 46; n++) this.step()
    plan(this, {
      proposal: 'P-3',
      state: 'rolled-back',
      claim: 'Keep only the last four results in context',
      before: gatherTree,
      after: forgetTree,
      revision: revisions.third,
    })
    this.activate('proposal', revisions.third, 'P-3')
    for (let n = 0; n < 6; n++) this.step()
    this.append({
      kind: 'revision.rolled-back',
      task: 'T-1',
      data: {
        from: { activation: 3, revision: revisions.third },
        to: { activation: 4, revision: revisions.second },
        cause: 'probation',
        proposal: 'P-3',
        reason: 'cost a step rose 2.4-fold over 6 steps',
      },
    })
    this.activate('last-good', revisions.second, null)
    for (let n = 0; n < 30; n++) this.step()
    planAll(this)
  }

  append(draft: Draft): EventRow {
    this.at += 300 + Math.random() * 500
    const event: EventRow = {
      seq: this.events.length + 1,
      at: Math.round(Math.min(this.at, Date.now())),
      agent: 'scout',
      task: null,
      run: null,
      generation: this.activation,
      turn: null,
      step: null,
      actor: 'kernel',
      revision: revisions.seed,
      ...draft,
    }
    this.events.push(event)
    for (const listener of this.listeners) listener([event])
    return event
  }

  step(): void {
    const n = this.steps.length + 1
    const isBetter = this.activation === 2 || this.activation === 4
    const where = { task: 'T-1', run: 'task' as const, turn: 1 + Math.floor(n / 25), step: n }
    const input = 2200 + n * 61
    const isBreak = this.steps.at(-1)?.activation !== this.activation && n > 1
    const read = isBreak ? 0 : Math.floor((input * 0.94) / 128) * 128
    const write = isBreak ? 1536 : 0
    const usage = {
      uncached: input - read - write,
      cacheRead: read,
      cacheWrite: write,
      output: 60 + (n % 7) * 9,
      reasoning: 0,
    }
    const costNanoUsd = usage.uncached * 400 + usage.cacheRead * 40 + usage.cacheWrite * 500 + usage.output * 1600
    this.append({
      ...where,
      kind: 'model.called',
      data: {
        request: n,
        parent: n - 1,
        keptItems: n * 2,
        items: n * 2 + 2,
        api: 'responses',
        model: 'sim-apprentice',
        simulated: true,
        status: 'completed',
        attempts: 1,
        usage,
        usageSource: 'reported',
        costNanoUsd,
        costReason: null,
        priceVersion: '2026-11-01',
        durationMs: 420 + (n % 9) * 70,
        firstByteMs: 110,
        output: [{ hash: hash(n), type: 'function_call' }],
        firstDifference: isBreak ? { index: 0, kind: 'tools', before: null, after: null } : null,
        composition: { instructions: 640, tools: 210, messages: 300, toolResults: input - 1150 },
        error: null,
      },
    })
    const tool = isBetter && n % 3 === 0 ? 'gather' : 'shell'
    const call = `call_${n}`
    const asked = tool === 'gather' ? { trade: 'fishing' } : { command: `world act ${['fish', 'chop', 'dig'][n % 3]}` }
    this.append({
      ...where,
      kind: 'tool.called',
      data: { call, name: tool, arguments: JSON.stringify(asked), model: this.events.length },
    })
    this.append({
      ...where,
      kind: 'sandbox.executed',
      data: {
        op: 'exec',
        what: Object.values(asked)[0] ?? '',
        call,
        exitCode: n % 17 === 0 ? 1 : 0,
        timedOut: false,
        bytes: 84,
        durationMs: 38,
      },
    })
    const isError = n % 17 === 0
    const gain = isError ? 0 : isBetter ? 9 : this.activation === 3 ? 1 : 3
    this.append({
      ...where,
      kind: 'tool.finished',
      data: {
        call,
        name: tool,
        outcome: isError ? 'error' : 'ok',
        output: isError ? 'exit 1: the bag is full\nstore first' : `You catch a silver eel. +${gain} xp\nbag 4/8`,
        outputBytes: 48,
        durationMs: 41,
      },
    })
    if (gain > 0 && n % 2 === 0) {
      this.progress += gain * 2
      this.append({
        ...where,
        kind: 'task.progressed',
        data: { value: this.progress, goal: 1500, unit: 'xp', source: 'measured' },
      })
    }
    if (n % 19 === 0)
      this.append({
        ...where,
        actor: 'executor',
        kind: 'message.appended',
        data: {
          role: 'assistant',
          text: 'The eel pool is near the camp: I fish there until the bag is full, then store.\u202e',
        },
      })
    this.steps.push({
      turn: where.turn,
      step: n,
      activation: this.activation,
      at: Math.round(this.at),
      modelCalls: 1,
      failedCalls: 0,
      toolCalls: 1,
      costNanoUsd,
      progress: this.progress,
      cacheBreak: isBreak ? { seq: this.events.length, index: 0, kind: 'tools' } : null,
      ...usage,
    })
    this.now = { what: `tool ${tool}`, since: Date.now() }
  }

  activate(cause: RevisionRow['cause'], revision: string, proposal: string | null): void {
    const previous = this.revisions.at(-1)
    const activation = this.revisions.length + 1
    if (previous) previous.state = cause === 'last-good' || cause === 'rollback' ? 'rolled-back' : 'past'
    if (previous && cause === 'last-good') previous.reason = 'cost a step rose 2.4-fold over 6 steps'
    this.activation = activation
    const event = this.append({
      kind: 'revision.activated',
      task: 'T-1',
      data: {
        activation,
        revision,
        previous: previous?.revision ?? null,
        cause,
        proposal,
        probationSteps: cause === 'proposal' ? 10 : 0,
      },
    })
    this.revisions.push({
      activation,
      revision,
      previous: previous?.revision ?? null,
      cause,
      proposal,
      claim: this.proposals.find((p) => p.proposal === proposal)?.claim ?? null,
      authorisedBy: cause === 'seed' ? 'seed' : cause === 'last-good' ? 'last-good' : 'operator',
      at: event.at,
      seq: event.seq,
      state: 'active',
      reason: null,
      steps: 0,
      costNanoUsd: null,
      progressDelta: null,
      cachedShare: null,
    })
  }

  /** The hash of a revision by a name of its own. */
  name(of: string): string {
    return of === 'seed'
      ? revisions.seed
      : hash(100 + [...of].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7))
  }

  treeOf(revision: string): Tree {
    return this.trees.get(revision) ?? {}
  }

  active(): string {
    return this.revisions.at(-1)?.revision ?? revisions.seed
  }

  activations(): ActivationPoint[] {
    return this.revisions.map((row) => {
      const own = this.steps.filter((step) => step.activation === row.activation)
      const sum = (key: 'uncached' | 'cacheRead' | 'cacheWrite' | 'output' | 'reasoning') =>
        own.reduce((total, step) => total + step[key], 0)
      const cost = own.reduce((total, step) => total + (step.costNanoUsd ?? 0), 0)
      const before = this.steps.filter((step) => step.activation < row.activation).at(-1)?.progress ?? 0
      const read = sum('cacheRead')
      const input = sum('uncached') + read + sum('cacheWrite')
      return {
        activation: row.activation,
        revision: row.revision,
        steps: own.length,
        modelCalls: own.length,
        failedCalls: 0,
        costNanoUsd: cost,
        cachedShare: input ? read / input : null,
        progressDelta: own.length ? (own.at(-1)?.progress ?? 0) - before : null,
        uncached: sum('uncached'),
        cacheRead: read,
        cacheWrite: sum('cacheWrite'),
        output: sum('output'),
        reasoning: 0,
      }
    })
  }
}
