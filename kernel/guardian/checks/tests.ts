import type { RunOutput, TreeFile } from '../../sandbox/sandbox.ts'
import type { TestsReport } from '../../wire/operator-replay.ts'
import type { GuardianParts } from '../core.ts'
import { type Check, type CheckOutcome, fail, pass, unresolved } from './check.ts'
import { undecidable } from './undecidable.ts'

const node = '/exodesk/bin/node'
const thresholds = { seconds: 60 }
const outputBytes = 256 * 1024
const outputShown = 4_000
/** More would not fit on a command line, and is no test suite of a policy. */
const filesMost = 200

/** The `*.test.ts` files that a candidate brings, by Node's own runner, in a box. */
export const tests: Check = {
  name: 'tests',
  description:
    'Runs the *.test.ts files of the candidate with node --test in a box, and those that it removes or changes as they were.',
  gates: true,
  thresholds,
  rules: { version: 1, node: '--test' },
  async run({ agent, proposal, revision, files, base, thresholds: set }, parts, signal) {
    const limits = { ...thresholds, ...set }
    const label = `${agent}.${proposal}.tests`
    const now = new Map(testsIn(files).map(({ path, text }) => [path, text]))
    const before = testsIn(base)
    const removed = before.filter(({ path }) => !now.has(path))
    const changed = before.filter(({ path, text }) => now.has(path) && now.get(path) !== text)
    const report: TestsReport = {
      ...{ files: [...now.keys()], removed: pathsOf(removed), changed: pathsOf(changed) },
      ...{ own: null, base: null, output: '' },
    }
    if (now.size === 0 && removed.length === 0) return pass('it brings no tests', report)
    if (now.size > filesMost) return fail(`it brings ${now.size} test files; at most ${filesMost} are run`, report)
    return undecidable('its tests', async () => {
      const own = now.size === 0 ? null : await run(parts, { label, revision, paths: [...now.keys()], limits, signal })
      const old = [...removed, ...changed]
      const earlier = old.length === 0 ? null : await runOld(parts, { label, files, old, limits, signal })
      report.own = own?.counts ?? null
      report.base = earlier?.counts ?? null
      report.output = (own ?? earlier)?.output ?? ''
      return judge(report, own, removed.length + changed.length)
    })
  },
}

interface Ran {
  counts: NonNullable<TestsReport['own']>
  output: string
  /** Why there is no result; null: there is one. */
  problem: string | null
}

function judge(report: TestsReport, own: Ran | null, old: number): CheckOutcome {
  const touched =
    old === 0
      ? ''
      : `; it removes or changes ${old} test file${old === 1 ? '' : 's'} of its base, ${oldResult(report.base)}`
  if (own === null) return unresolved(`it brings no tests any more${touched}`, report)
  const { passed, failed, firstFailure } = own.counts
  if (own.problem !== null) return fail(`its tests ${own.problem}${touched}`, report)
  if (failed > 0)
    return fail(`${failed} of its ${passed + failed} tests fail, first: ${firstFailure ?? 'unnamed'}${touched}`, report)
  return pass(`its ${passed} test${passed === 1 ? '' : 's'} pass${passed === 1 ? 'es' : ''}${touched}`, report)
}

function oldResult(base: TestsReport['base']): string {
  if (base === null) return 'which were not run'
  return base.failed === 0
    ? 'which still pass on it as they were'
    : `of which ${base.failed} tests fail on it as they were`
}

interface Suite {
  label: string
  limits: typeof thresholds
  signal: AbortSignal
}

/** The candidate with the base's tests in place of its own. */
async function runOld(
  parts: GuardianParts,
  { files, old, ...suite }: Suite & { files: readonly TreeFile[]; old: readonly TreeFile[] },
): Promise<Ran> {
  const kept = files.filter(({ path }) => !isTest(path))
  return run(parts, { ...suite, revision: await parts.revisions.put([...kept, ...old]), paths: pathsOf(old) })
}

async function run(
  { provider, revisions }: GuardianParts,
  { label, revision, paths, limits, signal }: Suite & { revision: string; paths: readonly string[] },
): Promise<Ran> {
  const mounts = { revision: await revisions.materialise(revision) }
  const argv = [
    node,
    '--test',
    '--test-reporter=tap',
    '--test-concurrency=1',
    ...paths.map((path) => `/revision/${path}`),
  ]
  const timeoutMs = limits.seconds * 1000
  const output = await provider.run(
    { profile: 'check', label, mounts, argv, cwd: '/revision', timeoutMs },
    { outputBytes, signal },
  )
  return ranOf(output, limits.seconds)
}

function ranOf(output: RunOutput, seconds: number): Ran {
  const text = output.stdout.toString('utf8')
  const counts = {
    passed: countOf(text, 'pass'),
    failed: countOf(text, 'fail') + countOf(text, 'cancelled'),
    firstFailure: firstOf(text),
  }
  const shown = `${text}${output.stderr.toString('utf8')}`.slice(-outputShown)
  const problem = output.timedOut
    ? `were not done within ${seconds} s`
    : output.outOfMemory
      ? 'needed more memory than their box has'
      : output.exitCode !== 0 && counts.failed === 0
        ? `ended with ${output.exitCode ?? output.signal} and no result`
        : null
  return { counts, output: shown, problem }
}

/** Node's summary comes last; what tests print themselves is a comment of TAP too, and comes before. */
function countOf(text: string, what: string): number {
  const lines = [...text.matchAll(new RegExp(`^# ${what} (\\d+)$`, 'gm'))]
  return Number(lines.at(-1)?.[1] ?? 0)
}

/** The first test that is not ok, with its error where it gives one. */
function firstOf(text: string): string | null {
  const found = /^\s*not ok \d+ - (.*)$/m.exec(text)
  if (found === null) return null
  const error = /^\s*error: (?:'(.*)'|\|-\n\s*(.*))$/m.exec(text.slice(found.index))
  const said = error?.[1] ?? error?.[2]
  return `${(found[1] ?? '').replace('/revision/', '')}${said === undefined ? '' : `: ${said}`}`.slice(0, 400)
}

function testsIn(files: readonly TreeFile[]): TreeFile[] {
  return files.filter(({ path }) => isTest(path))
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}

function pathsOf(files: readonly TreeFile[]): string[] {
  return files.map(({ path }) => path)
}
