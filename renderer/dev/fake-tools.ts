import { ORPCError } from '@orpc/server'
import type { ReviewerHealth } from '../../kernel/wire/operator-review.ts'
import type { ArtifactRow, ToolDetail, ToolRow } from '../../kernel/wire/operator-tools.ts'
import { os } from './fake-contract.ts'
import { hash } from './fake-hash.ts'
import { type FakeWorld, revisions } from './fake-world.ts'

const day = 86_400_000
const row = (tool: string, description: string, over: Partial<ToolRow>): ToolRow => ({
  tool,
  description,
  isOffered: true,
  origin: 'seed',
  file: `tools/${tool}.ts`,
  fileHash: hash(tool.length + 40),
  declaredBy: 'syntax' as const,
  declared: ['sandbox.exec'],
  observed: [],
  undeclared: [],
  introduced: { activation: 1, at: Date.now() - 2 * day, proposal: null, author: 'seed', by: 'seed' },
  changedBy: [],
  calls: 0,
  errors: 0,
  interrupted: 0,
  callsLast7Days: 0,
  medianMs: null,
  outputBytes: 0,
  resultTokens: 0,
  costShare: 0,
  lastUsedAt: null,
  tests: 0,
  audit: 'none',
  auditedAt: null,
  quarantined: null,
  retirementAskedAt: null,
  saved: null,
  ...over,
})
const used = (calls: number, errors: number, medianMs: number, costShare: number, secondsAgo: number) => ({
  ...{ calls, errors, medianMs, costShare },
  callsLast7Days: Math.round(calls * 0.8),
  interrupted: Math.round(errors / 9),
  outputBytes: calls * 912,
  resultTokens: calls * 260,
  lastUsedAt: Date.now() - secondsAgo * 1000,
})

const toolsNow: ToolRow[] = [
  row('shell', 'Run a bash command in the sandbox.', {
    ...used(903, 45, 612, 0.61, 2),
    observed: ['sandbox.exec'],
    audit: 'audited',
    auditedAt: Date.now() - day,
  }),
  row('gather_until_full', 'Gather until the bag is full, and say what came in.', {
    ...used(212, 2, 40, 0.08, 60),
    origin: 'learned',
    observed: ['sandbox.exec'],
    introduced: { activation: 2, at: Date.now() - 40 * 60_000, proposal: 'P-2', author: 'agent', by: 'operator' },
    changedBy: ['P-4'],
    tests: 2,
    audit: 'stale',
    auditedAt: Date.now() - 39 * 60_000,
    saved: { before: 5120, after: 2210, stepsBefore: 96, stepsAfter: 141 },
  }),
  row('fetch_wiki', 'Look a word up in the wiki of the world.', {
    ...used(41, 5, 2100, 0.09, 180),
    origin: 'learned',
    declaredBy: 'syntax' as const,
    declared: ['sandbox.read'],
    observed: ['sandbox.exec', 'sandbox.read', 'artifact.put'],
    undeclared: ['sandbox.exec', 'artifact.put'],
    introduced: { activation: 2, at: Date.now() - 40 * 60_000, proposal: 'P-2', author: 'agent', by: 'rule' },
  }),
  row('sweep', 'Remove what is no longer needed.', {
    ...used(18, 6, 320, 0.01, 4000),
    origin: 'learned',
    declaredBy: 'syntax' as const,
    declared: ['sandbox.exec', 'sandbox.list'],
    observed: ['sandbox.exec'],
    introduced: { activation: 2, at: Date.now() - 40 * 60_000, proposal: 'P-2', author: 'agent', by: 'operator' },
    quarantined: { at: Date.now() - 600_000, reason: 'it removed the notes of an earlier task' },
    retirementAskedAt: Date.now() - 500_000,
  }),
  row('read', 'Read a file or a blob, whole or by lines.', {
    ...used(388, 3, 22, 0.12, 9),
    declaredBy: 'syntax' as const,
    declared: ['blob.get', 'sandbox.read'],
    observed: ['sandbox.read'],
    audit: 'audited',
    auditedAt: Date.now() - day,
  }),
  row('snapshot', 'Save or restore the state of the sandbox.', {
    declaredBy: 'syntax' as const,
    declared: ['sandbox.restore', 'sandbox.snapshot', 'sandbox.snapshots'],
  }),
  row('propose', 'Submit the policy in /policy.', {
    ...used(5, 0, 410, 0.02, 900),
    declaredBy: 'syntax' as const,
    declared: ['policy.propose'],
    observed: ['policy.propose'],
  }),
]

const source = (limit: number) => `import type { Tool } from '../tool.ts'

export const tool: Tool<{ place: string }> = {
  name: 'gather_until_full',
  description: 'Gather until the bag is full, and say what came in.',
  properties: { place: { type: 'string' } },
  required: ['place'],
  async run({ place }, kernel) {
    return kernel.exec(\`for n in $(seq ${limit}); do act gather \${place} || break; done\`)
  },
}
`

const artifacts: (ArtifactRow & { texts: string[] })[] = [
  kept('memory/fishing', 'memory', [
    'Eels bite at night.\n',
    'Eels bite at night.\nThe eel pool is behind the reeds.\nSell at camp, not at the pool.\n',
  ]),
  kept('memory/mining', 'memory', ['Copper is under the birch wood.\n']),
  kept('skills/fast-route', 'skill', ['camp → reeds → eel pool: 3 actions\n']),
  kept('policy-backup', 'other', ['loop.ts …\n'.repeat(400)]),
]

function kept(name: string, kind: ArtifactRow['kind'], texts: string[]): ArtifactRow & { texts: string[] } {
  const sizeBytes = texts.at(-1)?.length ?? 0
  const header = { by: kind === 'other' ? ('kernel' as const) : ('executor' as const), task: 'T-1' }
  return {
    name,
    kind,
    versions: texts.length,
    sizeBytes,
    at: Date.now() - 300_000,
    ...header,
    revision: hash(2),
    texts,
  }
}

/** Tools, artifacts and reviews of the invented world. */
export function fakeTools(world: FakeWorld) {
  const find = (tool: string): ToolRow => {
    const found = toolsNow.find((one) => one.tool === tool)
    if (!found) throw new ORPCError('NOT_FOUND', { message: `agent scout has no tool ${tool}` })
    return found
  }
  const note = (
    kind: 'tool.quarantined' | 'tool.released' | 'tool.audited' | 'tool.retirement-asked',
    tool: string,
  ) => ({
    seq: world.append({ kind, actor: 'operator', data: { tool } }).seq,
  })
  const artifact = (name: string) => {
    const found = artifacts.find((one) => one.name === name)
    if (!found) throw new ORPCError('NOT_FOUND', { message: `agent scout has no artifact ${name}` })
    return found
  }
  return {
    tools: {
      list: os.tools.list.handler(() => toolsNow),
      get: os.tools.get.handler(({ input }) => detail(find(input.tool))),
      source: os.tools.source.handler(({ input }) => ({ text: source(input.revision === revisions.second ? 40 : 60) })),
      quarantine: os.tools.quarantine.handler(({ input }) => {
        find(input.tool).quarantined = { at: Date.now(), reason: input.reason }
        return note('tool.quarantined', input.tool)
      }),
      release: os.tools.release.handler(({ input }) => {
        find(input.tool).quarantined = null
        return note('tool.released', input.tool)
      }),
      audit: os.tools.audit.handler(({ input }) => {
        find(input.tool).audit = 'audited'
        return note('tool.audited', input.tool)
      }),
      askRetirement: os.tools.askRetirement.handler(({ input }) => {
        find(input.tool).retirementAskedAt = Date.now()
        return note('tool.retirement-asked', input.tool)
      }),
    },
    artifacts: {
      list: os.artifacts.list.handler(() => artifacts.map(({ texts: _texts, ...shown }) => shown)),
      versions: os.artifacts.versions.handler(({ input }) => {
        const { texts, kind: _kind, versions: _versions, ...shown } = artifact(input.name)
        const all = texts.map((text, n) => ({
          ...shown,
          version: n + 1,
          hash: hash(n + 90),
          seq: n + 20,
          sizeBytes: text.length,
        }))
        return all.reverse()
      }),
      read: os.artifacts.read.handler(({ input }) => {
        const { texts } = artifact(input.name)
        const version = input.version ?? texts.length
        const text = texts[version - 1] ?? ''
        return { text, version, totalBytes: text.length, isCut: false }
      }),
    },
  }
}

function detail(found: ToolRow): ToolDetail {
  const version = (activation: number, revision: string, proposal: string | null, n: number) => ({
    ...{ activation, revision, proposal },
    at: Date.now() - activation * 900_000,
    hash: hash(n),
  })
  return {
    ...found,
    source: source(60),
    schema: {
      type: 'function',
      name: found.tool,
      description: found.description,
      parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    },
    versions:
      found.origin === 'seed'
        ? [version(1, revisions.seed, null, 61)]
        : [version(4, revisions.third, 'P-4', 63), version(2, revisions.second, 'P-2', 62)],
    callers: found.tests > 0 ? ['tools/index.ts', 'tests/gather.test.ts'] : ['tools/index.ts'],
    samples:
      found.calls === 0
        ? []
        : [
            sample(140, 'error', 'error: exit code 1\n[stderr]\nact: the bag is full'),
            sample(132, 'ok', '18 silver eels, the bag is full'),
          ],
  }
}

function sample(seq: number, outcome: string, output: string) {
  return { seq, task: 'T-1', outcome, arguments: '{"place":"eel pool"}', output, at: Date.now() - (200 - seq) * 1000 }
}

export function fakeHealth(): ReviewerHealth {
  const hour = 3_600_000
  const at = (n: number) => Math.floor(Date.now() / hour) * hour - n * hour
  return {
    days: 30,
    decisions: 31,
    byVerdict: { approved: 26, rejected: 4, returned: 1 },
    byTier: [
      { risk: 'LOW', decided: 12, approved: 12 },
      { risk: 'MED', decided: 14, approved: 12 },
      { risk: 'HIGH', decided: 5, approved: 2 },
    ],
    medianOpenMs: 41_000,
    medianMsPerChangedLine: 140,
    approvedUnread: [
      { agent: 'scout', proposal: 'P-2' },
      { agent: 'scout', proposal: 'P-3' },
    ],
    laterRolledBack: [{ agent: 'scout', proposal: 'P-3', reason: 'three turns in a row failed' }],
    perHour: [
      { at: at(30), decisions: 22 },
      { at: at(3), decisions: 9 },
    ],
    ruleHits: 7,
    expired: 2,
  }
}
