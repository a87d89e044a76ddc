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
import { proposalFiles } from './fake-tree.ts'

export const hash = (n: number): string => (n * 2654435761).toString(16).padStart(8, '0').slice(-8).repeat(8)

export const revisions = { seed: hash(1), second: hash(2), third: hash(3), bad: hash(4) }

type Draft = Partial<EventRow> & Pick<EventRow, 'kind' | 'data'>

export class FakeWorld {
  readonly events: EventRow[] = []
  readonly steps: StepPoint[] = []
  readonly proposals: ProposalDetail[] = []
  readonly revisions: RevisionRow[] = []
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
    this.propose('P-1', 'rejected', 'Drop the step limit so that turns never end', revisions.bad)
    for (let n = 0; n < 12; n++) this.step()
    this.propose('P-2', 'active', 'Gather until the bag is full in one tool call', revisions.second)
    this.activate('proposal', revisions.second, 'P-2')
    for (let n = 0; n < 46; n++) this.step()
    this.propose('P-3', 'rolled-back', 'Keep only the last four results in context', revisions.third)
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
    this.propose('P-4', 'ready', 'Read the map once and walk by trade, not by step', hash(9))
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

  propose(proposal: string, state: ProposalDetail['state'], claim: string, revision: string): void {
    const files = Object.entries(proposalFiles).map(([path, { before }]) => ({
      path,
      change: before === null ? ('added' as const) : ('changed' as const),
      addedLines: before === null ? 11 : 3,
      removedLines: before === null ? 0 : 2,
    }))
    const where = { task: 'T-1' }
    const made = this.append({
      ...where,
      actor: 'executor',
      kind: 'proposal.made',
      data: { proposal, revision, base: this.active(), claim, files, by: 'executor' },
    })
    const checks = fakeChecks(made.seq)
    for (const check of checks) this.append({ ...where, kind: 'proposal.checked', data: { proposal, ...check } })
    this.append({ ...where, kind: 'proposal.readied', data: { proposal, risk: 'MED', reasons: ['changes the loop'] } })
    if (state === 'rejected')
      this.append({
        ...where,
        actor: 'operator',
        kind: 'proposal.reviewed',
        data: {
          proposal,
          verdict: 'rejected',
          reason: 'A turn without an end cannot be stopped safely.',
          by: 'operator',
        },
      })
    this.proposals.push({
      agent: 'scout',
      proposal,
      task: 'T-1',
      state,
      revision,
      base: this.active(),
      risk: 'MED',
      riskReasons: ['Changes executor logic: loop.ts', 'Adds a tool: gather'],
      claim,
      by: 'executor',
      files,
      addedLines: 14,
      removedLines: 2,
      madeAt: made.at,
      madeSeq: made.seq,
      decidedAt: state === 'ready' ? null : made.at + 40_000,
      reason: state === 'rejected' ? 'A turn without an end cannot be stopped safely.' : null,
      activation: null,
      why: 'Seven of the last ten model calls asked for the same command again.\nOne call that repeats it would save six.\n<img src=x onerror=alert(1)> is shown as text.',
      expects: 'cost per xp falls by a third',
      evidence: [88, 91, 97],
      sizeBytes: 9312,
      problems: [],
      checks,
      pendingChecks: [],
      active: { revision: this.active(), activation: this.activation },
      onApprove: ['T-1 goes on with r5 at its next safe point.', 'Probation watches the first 10 steps.'],
      undo: 'Roll back to r4: one step, no data is lost.',
      blocked: state === 'ready' ? null : `already ${state}`,
      unresolved: [],
      looked: [],
      derivedFrom: null,
      derivedTo: null,
      predecessor: null,
      comments: [],
      category: null,
      expiresAt: null,
      deferredUntil: null,
      triggers: [],
      opinions: [],
    })
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

function fakeChecks(seq: number): ProposalDetail['checks'] {
  return [
    {
      seq: seq + 1,
      check: 'scope',
      verdict: 'pass',
      summary: '2 files, 9.1 KiB, no links, no binaries',
      details: { files: 2 },
      durationMs: 12,
    },
    {
      seq: seq + 2,
      check: 'static',
      verdict: 'pass',
      summary: 'capabilities added: none; imports added: ./sandbox.ts',
      details: { added: [], imports: ['./sandbox.ts'] },
      durationMs: 31,
    },
    {
      seq: seq + 3,
      check: 'types',
      verdict: 'pass',
      summary: 'no errors in 14 files',
      details: { errors: 0 },
      durationMs: 512,
    },
    {
      seq: seq + 4,
      check: 'boot',
      verdict: 'pass',
      summary: 'handshake and one synthetic turn',
      details: { handshakeMs: 181 },
      durationMs: 640,
    },
    {
      seq: seq + 5,
      check: 'replay',
      verdict: 'unresolved',
      summary:
        'estimate: 5 of 5 steps run; input 5.1k → 5.3k tokens; predicted cached share 93 % → 12 % on the first call',
      details: { steps: 5, tokensBefore: 5120, tokensAfter: 5304, prefix: 'changed' },
      durationMs: 1930,
    },
  ]
}
