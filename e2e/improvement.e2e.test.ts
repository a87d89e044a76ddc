// The claim of the product, shown causally: what makes a task cheaper is the approved edit, and nothing else.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Effect } from '../kernel/wire/operator-effects.ts'
import { boxMissing, dataDir, events, exodesk, removeDataDirs, result, root } from './exodesk.ts'

const pack = 'tasks/hollowmere/skills'
const minutes = 60_000

interface Run {
  agent: string
  outcome: string
  progress: { value: number; unit: string; source: string }
  modelCalls: number
  costNanoUsd: number
  tokens: Record<string, number>
  proposals: { made: number; approved: number; rejected: number; failedChecks: number }
  activations: number
  rollbacks: number
  byActivation: { activation: number; revision: string; steps: number; costNanoUsd: number; progressDelta: number }[]
}

const perUnit = ({ costNanoUsd, progressDelta }: { costNanoUsd: number; progressDelta: number }) =>
  costNanoUsd / progressDelta
const trees: string[] = []

function copyOf(from: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'exodesk-tree-'))
  trees.push(dir)
  const isKernels = /\/(package\.json|wire\.d\.ts|tsconfig\.json|tests)$/
  cpSync(from, dir, { recursive: true, filter: (path) => !isKernels.test(path.slice(from.length)) })
  return dir
}

/** The tree of a revision that has run, as the kernel laid it. */
const treeOf = (data: string, revision: string) => copyOf(join(data, 'boxes', 'revisions', revision))
const seedTree = () => copyOf(join(root, 'executor-seed'))

/** A data directory in which `agent` runs this tree from the start. */
async function installed(tree: string): Promise<string> {
  const data = dataDir()
  await result(data, ['propose', '--agent', 'early', '--tree', tree, '--why', 'to run it from the start'])
  await result(data, ['approve', 'P-1', '--agent', 'early'])
  return data
}

function toolFile(tree: string): string {
  const [name] = readdirSync(join(tree, 'tools')).filter((file) => file.startsWith('round_'))
  if (name === undefined) throw new Error(`${tree} has no learned tool`)
  return join(tree, 'tools', name)
}

describe.skipIf(boxMissing)('an agent that writes itself a tool', () => {
  let data: string
  let learned: Run
  beforeAll(async () => {
    data = dataDir()
    learned = await result<Run>(data, ['run', pack, '--model', 'sim-apprentice', '--approve', 'all', '--seed', '7'])
  }, 10 * minutes)
  afterAll(() => {
    removeDataDirs()
    for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true })
  })

  it('completes the task, with one proposal made and approved', () => {
    expect(learned.outcome).toBe('completed')
    expect(learned.progress).toEqual({ value: 600, unit: 'xp', source: 'measured' })
    expect(learned.proposals).toEqual({ made: 1, approved: 1, rejected: 0, failedChecks: 0 })
    expect(learned.byActivation.map(({ activation }) => activation)).toEqual([1, 2])
  })

  it('pays less for each unit of progress after the activation', () => {
    const [before, after] = learned.byActivation
    if (before === undefined || after === undefined) throw new Error('there was no activation')
    expect(perUnit(after)).toBeLessThan(perUnit(before))
  })

  it('has repaid the making of the edit, by measured progress', async () => {
    const [, effect] = (await exodesk(data, ['effects', '--agent', learned.agent])).lines as unknown as Effect[]
    expect(effect).toMatchObject({ activation: 2, verdict: 'better', judgedBy: 'progress-per-dollar' })
    expect(effect?.predicted?.n).toBeGreaterThan(0)
    expect(effect?.breakEven).toMatchObject({ isRepaid: true, per: 'unit', steps: learned.byActivation[1]?.steps })
    const { spentNanoUsd, savedNanoUsd, atStep } = effect?.breakEven ?? {}
    expect(spentNanoUsd).toBeGreaterThan(0)
    expect(savedNanoUsd).toBeGreaterThan(spentNanoUsd ?? 0)
    expect(atStep).toBeLessThan(learned.byActivation[1]?.steps ?? 0)
  })

  it('keeps one history that verifies, with one sandbox for all of it', async () => {
    expect((await exodesk(data, ['verify'])).lines.at(-1)).toMatchObject({ ok: true, firstBadSeq: null })
    expect(await events(data, ['sandbox.created'])).toHaveLength(1)
  })

  it('meets the promise of a small first request', async () => {
    const [first] = await events(data, ['model.called'])
    const { uncached, cacheRead, cacheWrite } = (first?.data.usage ?? {}) as Record<string, number>
    expect((uncached ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0)).toBeLessThanOrEqual(1500)
  })

  it('breaks the prompt prefix at the activation alone', async () => {
    const breaks = (await events(data, ['model.called'])).filter((event) => event.data.firstDifference !== null)
    expect(breaks.map((event) => (event.data.firstDifference as { kind: string }).kind)).toEqual(['tools'])
  })

  it('saves from the first step where the same revision is installed from the start', {
    timeout: 10 * minutes,
  }, async () => {
    const early = await installed(treeOf(data, learned.byActivation[1]?.revision ?? ''))
    const run = await result<Run>(early, ['run', pack, '--agent', 'early', '--model', 'sim-apprentice', '--seed', '7'])
    expect(run.outcome).toBe('completed')
    expect(run.proposals.made).toBe(0)
    expect(run.costNanoUsd).toBeLessThan(learned.costNanoUsd)
    const [all] = run.byActivation
    const [before] = learned.byActivation
    if (all === undefined || before === undefined) throw new Error('no figures')
    expect(perUnit(all)).toBeLessThan(perUnit(before))
  })

  it('saves nothing by a tool of the same words that does nothing', { timeout: 10 * minutes }, async () => {
    const tree = treeOf(data, learned.byActivation[1]?.revision ?? '')
    const file = toolFile(tree)
    const source = readFileSync(file, 'utf8')
    const head = source.slice(0, source.indexOf('  async run('))
    writeFileSync(
      file,
      `${head.replace(/\n\/\/ .*/g, '').replace(/\nconst mostActions.*/, '')}  async run() {\n    return 'nothing'\n  },\n}\n`,
    )
    const idle = await installed(tree)
    const limits = ['--seed', '7', '--propose', 'off', '--max-steps', '60']
    const run = (
      await exodesk(idle, ['run', pack, '--agent', 'early', '--model', 'sim-apprentice', ...limits])
    ).lines.at(-1) as unknown as Run
    const novice = (await exodesk(dataDir(), ['run', pack, '--model', 'sim-novice', ...limits])).lines.at(
      -1,
    ) as unknown as Run
    expect(run.outcome).toBe('budget')
    expect(run.costNanoUsd / run.progress.value).toBeGreaterThanOrEqual(novice.costNanoUsd / novice.progress.value)
  })

  it('costs what the novice costs where it may not propose', { timeout: 10 * minutes }, async () => {
    const limits = ['--seed', '7', '--propose', 'off', '--max-steps', '60']
    const [mute, novice] = await Promise.all(
      ['sim-apprentice', 'sim-novice'].map(
        async (model) =>
          (await exodesk(dataDir(), ['run', pack, '--model', model, ...limits])).lines.at(-1) as unknown as Run,
      ),
    )
    expect(mute?.proposals.made).toBe(0)
    expect(mute?.tokens).toEqual(novice?.tokens)
    expect(mute?.costNanoUsd).toBe(novice?.costNanoUsd)
  })

  it('shows the same with another seed, under another name', { timeout: 10 * minutes }, async () => {
    const other = dataDir()
    const run = await result<Run>(other, ['run', pack, '--model', 'sim-apprentice', '--approve', 'all', '--seed', '11'])
    const [before, after] = run.byActivation
    if (before === undefined || after === undefined) throw new Error('there was no activation')
    expect(run.outcome).toBe('completed')
    expect(perUnit(after)).toBeLessThan(perUnit(before))
    const name = (dir: string, of: Run) =>
      toolFile(treeOf(dir, of.byActivation[1]?.revision ?? ''))
        .split('/')
        .at(-1)
    expect(name(other, run)).not.toBe(name(data, learned))
  })

  it('proposes nothing where the request does not tell of /policy', { timeout: 10 * minutes }, async () => {
    const tree = seedTree()
    const file = join(tree, 'instructions.ts')
    const source = readFileSync(file, 'utf8')
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source's own template.
    const told = '`${WORK}\\n${POLICY_SENTENCE}`'
    expect(source).toContain(told)
    writeFileSync(file, source.replace(told, 'WORK'))
    const silent = await installed(tree)
    const args = [
      'run',
      pack,
      '--agent',
      'early',
      '--model',
      'sim-apprentice',
      '--approve',
      'all',
      '--seed',
      '7',
      '--max-steps',
      '60',
    ]
    const run = (await exodesk(silent, args)).lines.at(-1) as unknown as Run
    expect(run.outcome).toBe('budget')
    expect(run.proposals.made).toBe(0)
  })
})
