// Long because: each proposal shows one state of the Review screen.
import type { ProposalDetail } from '../../kernel/wire/operator.ts'
import type { ContextReplay, ReplayedRequest } from '../../kernel/wire/operator-replay.ts'
import { changesOf } from './fake-diff.ts'
import * as trees from './fake-tree.ts'
import { fakeTrial } from './fake-trial.ts'
import type { FakeWorld } from './fake-world.ts'

type Check = Omit<ProposalDetail['checks'][number], 'seq'>

export interface Plan extends Partial<Omit<ProposalDetail, 'checks'>> {
  proposal: string
  state: ProposalDetail['state']
  claim: string
  before: trees.Tree
  after: trees.Tree
  revision: string
  checks?: Check[]
}

/** Adds one proposal as if an agent had made it, with what the kernel found. */
export function plan(world: FakeWorld, { before, after, checks = usualChecks, ...rest }: Plan): ProposalDetail {
  const { proposal, claim, revision, state } = rest
  world.trees.set(revision, after)
  const risk = rest.risk === undefined ? 'MED' : rest.risk
  const files = changesOf(before, after).map((file) => ({ ...file, ...fileRisk(file.path, risk ?? 'LOW') }))
  const base = rest.base ?? world.active()
  const made = world.append({
    task: 'T-1',
    actor: 'executor',
    kind: 'proposal.made',
    data: { proposal, revision, base, claim, files, by: 'executor' },
  })
  const told = checks.map((check) => {
    const { seq } = world.append({ task: 'T-1', kind: 'proposal.checked', data: { proposal, ...check } })
    return { ...check, seq }
  })
  const isOpen = state === 'ready' || state === 'checking'
  const sum = (key: 'addedLines' | 'removedLines') => files.reduce((total, file) => total + file[key], 0)
  const detail: ProposalDetail = {
    agent: 'scout',
    task: 'T-1',
    base,
    risk,
    riskReasons: ['Changes executor logic: loop.ts', 'Adds a tool: gather'],
    by: 'executor',
    files,
    addedLines: sum('addedLines'),
    removedLines: sum('removedLines'),
    madeAt: made.at,
    madeSeq: made.seq,
    decidedAt: isOpen ? null : made.at + 40_000,
    reason: null,
    activation: null,
    why: 'Seven of the last ten model calls asked for the same command again.\nOne call that repeats it would save six.\n<img src=x onerror=alert(1)> is shown as text.',
    expects: 'cost per xp falls by a third',
    evidence: [88, 91, 97],
    sizeBytes: Object.values(after).reduce((total, text) => total + text.length, 0),
    problems: [],
    checks: told,
    pendingChecks: [],
    active: { revision: world.active(), activation: world.activation },
    onApprove: [
      `r${world.activation + 1} becomes active for new tasks; T-1 goes on with it at its next safe point.`,
      'Probation watches its first 10 steps.',
    ],
    undo: `Roll back to r${world.activation}: one step, no data is lost.`,
    blocked: isOpen ? null : `it is already ${state}`,
    unresolved: [],
    looked: [],
    derivedFrom: null,
    derivedTo: null,
    predecessor: null,
    comments: [],
    category: null,
    expiresAt: null,
    deferredUntil: null,
    triggers: [
      { seq: 88, kind: 'tool.finished', text: 'shell: exit 1: the bag is full' },
      { seq: 91, kind: 'model.called', text: 'sim-apprentice: 7.7k in, 78 out' },
    ],
    opinions: [],
    ...rest,
  }
  world.proposals.push(detail)
  if (isOpen && state === 'ready')
    world.append({ task: 'T-1', kind: 'proposal.readied', data: { proposal, risk, reasons: detail.riskReasons } })
  return detail
}

function fileRisk(path: string, risk: NonNullable<ProposalDetail['risk']>) {
  const isTest = path.startsWith('tests/')
  const isBelow = path.endsWith('.md') || path.endsWith('.json') || path.startsWith('skills/')
  return {
    risk: isBelow && risk !== 'KERNEL' ? ('LOW' as const) : risk,
    reasons: risk === 'HIGH' && isTest ? ['edits its own test'] : [],
    tags: [isTest ? 'test' : path.endsWith('.md') ? 'prompt' : path.startsWith('tools') ? 'tool' : 'control'],
  }
}

const pass = (check: string, summary: string, durationMs: number, details: Check['details'] = {}): Check => ({
  check,
  verdict: 'pass',
  summary,
  details,
  durationMs,
})

const noFacts = {
  version: 1,
  problems: [],
  gained: [],
  lost: [],
  knobs: [],
  tracks: ['control'],
  isCut: false,
  files: [],
}
const usualChecks: Check[] = [
  pass('scope', '2 files, 9.1 KiB, no links, no binaries', 12, { files: 2 }),
  pass('static', 'no capability added; no setting lets it spend more', 31, { ...noFacts, risk: 'MED', reasons: [] }),
  pass('types', 'no errors in 14 files', 512, { errors: 0 }),
  pass('boot', 'handshake and one synthetic turn', 640, { handshakeMs: 181, turnMs: 402 }),
  pass('context-replay', '5 of 5 recorded steps run; input 5.1k → 5.3k tokens', 1930, replay(5120, 5304, 0.93, 0.91)),
]

function replay(before: number, after: number, cachedBefore: number, cachedAfter: number): ContextReplay {
  const request = (tokens: number, cachedShare: number): ReplayedRequest => ({
    tokens: { instructions: 640, tools: 210, messages: 300, toolResults: tokens - 1150, total: tokens },
    cachedShare,
    breaks: null,
    costNanoUsd: tokens * 80,
    error: null,
    undecided: false,
  })
  const means = (tokens: number, cachedShare: number) => ({
    inputTokensPerStep: tokens,
    cachedShare,
    costNanoUsdPerStep: tokens * 80,
    inputTokensPerStepAhead: tokens * 1.4,
  })
  return {
    estimated: true,
    task: 'T-1',
    model: 'sim-apprentice',
    simulated: true,
    steps: [0, 1, 2, 3, 4].map((n) => ({
      turn: 6,
      step: 128 + n,
      seq: 200 + n,
      recordedInputTokens: before + n * 61,
      before: request(before + n * 61, cachedBefore),
      after: request(after + n * 61, cachedAfter),
    })),
    before: means(before, cachedBefore),
    after: means(after, cachedAfter),
    ahead: 20,
    costReason: null,
    prefixBreak:
      cachedAfter < cachedBefore - 0.05
        ? { kind: 'tools', index: 0, at: 'activation', rewarmTokens: 5120, rewarmNanoUsd: 2_400_000 }
        : null,
    fidelity: { compared: 5, equal: 5, firstDifference: null, meteredPerCounted: 1.02 },
    exceptions: [],
  }
}

const highChecks: Check[] = [
  pass('scope', '3 files, 12 KiB, no links, no binaries', 14, { files: 3 }),
  pass('static', 'gained: retry, command; 1 setting lets it spend more', 44, {
    ...noFacts,
    risk: 'HIGH',
    gained: [
      { kind: 'retry', what: 'catch and try again', path: 'retry.ts', line: 3, isNew: true },
      { kind: 'command', what: 'timeout 60 sh -c', path: 'tools.ts', line: 5, isNew: true },
    ],
    lost: [],
    knobs: [
      {
        name: 'limitMs',
        unit: 'time',
        before: 20_000,
        after: 120_000,
        path: 'retry.ts',
        line: 14,
        how: 'changed',
        buysBudget: true,
      },
    ],
    reasons: ['tries again after a failure: retry.ts:3', 'composes a command line: tools.ts:5'],
  }),
  pass('types', 'no errors in 15 files', 530, { errors: 0 }),
  {
    check: 'claim',
    verdict: 'pass',
    summary: '1 statement true, 1 not decided',
    durationMs: 3,
    details: {
      version: 1,
      statements: [
        {
          text: 'only retry.ts changes',
          from: 'claim',
          kind: 'only-files',
          verdict: 'false',
          found: 'tools.ts and tests/retry.test.ts change too',
        },
        {
          text: 'the tests still pass',
          from: 'why',
          kind: 'tests-pass',
          verdict: 'not-decided',
          found: 'the change edits the test that would show it',
        },
      ],
    },
  },
  pass('tests', '3 of 3 tests of the candidate pass; 1 of them was edited by it', 2140, { passed: 3, failed: 0 }),
  {
    check: 'context-replay',
    verdict: 'unresolved',
    summary: 'no recorded step of this task ends in a failure that it would try again',
    durationMs: 1430,
    details: replay(5120, 5904, 0.93, 0.41),
  },
]

/** Everything that the Review screen has to show, over the agent that the world made. */
export function planAll(world: FakeWorld): void {
  const base = trees.gatherTree
  plan(world, {
    proposal: 'P-4',
    state: 'ready',
    claim: 'Read the map once and walk by trade, not by step',
    before: base,
    after: trees.walkTree,
    revision: world.name('walk'),
  })
  plan(world, {
    proposal: 'P-5',
    state: 'ready',
    claim: 'Only retry.ts changes: an action that fails is tried again',
    before: base,
    after: trees.retryTree,
    revision: world.name('retry'),
    risk: 'HIGH',
    riskReasons: [
      'Tries again after a failure: retry.ts:3',
      'Composes a command line: tools.ts:5',
      'Edits its own test: tests/retry.test.ts',
    ],
    checks: highChecks,
    unresolved: ['context-replay'],
    expiresAt: Date.now() + 3 * 86_400_000,
    opinions: [
      {
        seq: 240,
        model: 'sim-second',
        simulated: true,
        text: 'The bound of four is fine; that the test now accepts up to four runs hides a regression.',
        costNanoUsd: 1_900_000,
        at: Date.now() - 120_000,
      },
    ],
  })
  plan(world, {
    proposal: 'P-6',
    state: 'returned',
    claim: 'Say where a thing was learned, and keep the last four results only',
    before: base,
    after: { ...trees.promptTree, 'context.ts': trees.forgetTree['context.ts'] ?? '' },
    revision: world.name('returned'),
    reason: 'The prompt is good. Leave the context alone: it was rolled back in r3.',
    comments: [
      {
        path: 'context.ts',
        side: 'after',
        line: 6,
        text: 'This broke the prefix in r3: each step paid for all of it again.',
      },
    ],
    derivedTo: 'P-7',
  })
  plan(world, {
    proposal: 'P-7',
    state: 'ready',
    claim: 'Say where a thing was learned',
    before: base,
    after: trees.promptTree,
    revision: world.name('prompt'),
    risk: 'LOW',
    riskReasons: ['Words of a prompt, within bounds'],
    derivedFrom: { proposal: 'P-6', how: 'part', agentLines: 1, operatorLines: 0 },
    predecessor: {
      proposal: 'P-6',
      state: 'returned',
      revision: world.name('returned'),
      reason: 'The prompt is good. Leave the context alone: it was rolled back in r3.',
      category: null,
      comments: [
        {
          path: 'context.ts',
          side: 'after',
          line: 6,
          text: 'This broke the prefix in r3: each step paid for all of it again.',
        },
      ],
      isSameContent: false,
    },
  })
  plan(world, {
    proposal: 'P-8',
    state: 'ready',
    claim: 'A table in place of a rule',
    before: base,
    after: trees.longTree,
    revision: world.name('long'),
    risk: 'HIGH',
    riskReasons: ['Opens a network connection: table.ts:13378'],
  })
  plan(world, {
    proposal: 'P-9',
    state: 'stale',
    claim: 'Walk by trade',
    before: trees.seedTree,
    after: trees.walkTree,
    revision: world.name('stale'),
    base: world.name('seed'),
    blocked: 'r1 was active when it was made; r4 is active now',
  })
  plan(world, {
    proposal: 'P-10',
    state: 'checking',
    claim: 'A shorter prompt',
    before: base,
    after: trees.promptTree,
    revision: world.name('checking'),
    risk: null,
    riskReasons: [],
    checks: usualChecks.slice(0, 2),
    pendingChecks: ['types', 'boot', 'context-replay'],
    blocked: 'its checks are not done',
  })
  plan(world, {
    proposal: 'P-11',
    state: 'superseded',
    claim: 'Retry twice',
    before: base,
    after: trees.retryTree,
    revision: world.name('superseded'),
    derivedTo: 'P-5',
  })
  plan(world, {
    proposal: 'P-12',
    state: 'ready',
    claim: 'Thirty seconds for every skill',
    before: base,
    after: trees.wideTree,
    revision: world.name('wide'),
    riskReasons: ['Changes executor logic in 10 files'],
    deferredUntil: Date.now() + 50 * 60_000,
  })
  plan(world, {
    proposal: 'P-13',
    state: 'failed-checks',
    claim: 'Retry without end',
    before: base,
    after: trees.endlessTree,
    revision: world.name('endless'),
    checks: [
      ...usualChecks.slice(0, 3),
      {
        check: 'boot',
        verdict: 'unresolved',
        summary: 'the box could not be started: no space left on the device',
        details: { infrastructure: true },
        durationMs: 90,
      },
      {
        check: 'context-replay',
        verdict: 'fail',
        summary: 'a turn did not end within 40 steps',
        details: replay(5120, 5120, 0.93, 0.93),
        durationMs: 12_030,
      },
    ],
    reason: 'replay failed: a turn did not end within 40 steps',
  })
  plan(world, {
    proposal: 'P-14',
    state: 'ready',
    claim: 'Speak the wire more directly',
    before: base,
    after: trees.walkTree,
    revision: world.name('kernel'),
    risk: 'KERNEL',
    riskReasons: ['Touches the kernel’s side: wire/executor.ts'],
    blocked: null,
  })
  world.trials.push({ ...fakeTrial('P-4', 300, { capNanoUsd: 20_000_000, capTokens: null, maxSteps: 12 }) })
  plan(world, {
    proposal: 'P-16',
    state: 'ready',
    claim: 'Thirty seconds for each of ten skills',
    before: base,
    after: trees.tenTree,
    revision: world.name('ten'),
    riskReasons: ['Changes executor logic in 10 files'],
  })
  plan(world, {
    proposal: 'P-15',
    state: 'ready',
    claim: 'Notes \u202enwod edispu\u202c and <b>bold</b>',
    before: base,
    after: trees.hostileTree,
    revision: world.name('hostile'),
    checks: [
      pass('scope', '3 files', 9),
      { check: 'hidden', verdict: 'fail', summary: 'U+202E in notes/gnp.⟦U+202E⟧txt:1', details: {}, durationMs: 4 },
    ],
  })
}
