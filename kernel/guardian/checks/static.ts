import { posix } from 'node:path'
import { KernelError } from '../../errors.ts'
import type { TreeFile } from '../../sandbox/sandbox.ts'
import type { StaticDetails } from '../../wire/operator-checks.ts'
import { assess } from '../risk.ts'
import { charter, isTest, tagsOf, tracksOf } from './charter.ts'
import { type Check, type CheckOutcome, fail, pass, unresolved } from './check.ts'
import { changesOf, type Delta, deltaOf, type ReadFile } from './delta.ts'
import type { FileFacts } from './facts/file-facts.ts'
import { readFacts } from './reading.ts'

const listed = 200
/** Raised with every change of what `facts/` finds or of what is demanded of it. */
const version = 3

/** What the syntax tree says that the change can do, and whether it can be said at all. */
export const staticCheck: Check = {
  name: 'static',
  description: 'What the syntax tree says that it can do, and spends; and whether that can be said at all.',
  gates: true,
  thresholds: {},
  rules: { version, charter },
  async run({ files, base, agent, proposal }, { provider }, signal) {
    const asked = filesToRead(base, files)
    try {
      const reading = await readFacts(provider, `${agent}.${proposal}.static`, asked, signal)
      if (reading.ok) {
        const facts = new Map(asked.map((file, index) => [keyOf(file), reading.facts[index] as FileFacts]))
        const read = (tree: readonly TreeFile[]) =>
          tree.map((file) => ({ ...file, facts: facts.get(keyOf(file)) as FileFacts }))
        return judge(read(base), read(files))
      }
      if (reading.at === null)
        return unresolved(`the reader of sources gave no answer: ${reading.reason}. Propose again once that is mended`)
      const problem = `cannot be read: the reader fell over it (${reading.reason}). Write it simpler, with less nesting`
      return fail(`${reading.at}: ${problem}`, { problems: [{ path: reading.at, line: 1, problem }] })
    } catch (error) {
      if (error instanceof KernelError && error.code === 'unavailable')
        return unresolved(`the sources could not be read: ${error.message}. Mend it and propose again`)
      throw error
    }
  },
}

/** Each content of each path once; what both trees have is read once. The candidate's come first: it is they that may fail. */
function filesToRead(base: readonly TreeFile[], files: readonly TreeFile[]): TreeFile[] {
  return [...new Map([...files, ...base].map((file) => [keyOf(file), { path: file.path, text: file.text }])).values()]
}

const keyOf = ({ path, text }: TreeFile): string => `${path}\n${text}`

/** The verdict over two trees that were read. Pure. */
export function judge(base: readonly ReadFile[], candidate: readonly ReadFile[]): CheckOutcome {
  const delta = deltaOf(base, candidate)
  const problems = problemsOf(base, candidate, delta)
  const details = detailsOf(base, candidate, delta, problems)
  const [first] = problems
  if (first !== undefined) {
    const more = problems.length > 1 ? `; and ${problems.length - 1} more` : ''
    return fail(`${first.path}:${first.line} ${first.problem}${more}`, details)
  }
  // What it costs is for a person: no rule and no flag decides on more spending.
  if (details.knobs.some(({ buysBudget }) => buysBudget))
    return unresolved(`${summaryOf(details)}. Whether that is worth it is for the operator to say`, details)
  return pass(summaryOf(details), details)
}

/** A file that no parser reads, or of which nobody could say what it does. What the base has already was decided with it. */
function problemsOf(
  base: readonly ReadFile[],
  candidate: readonly ReadFile[],
  delta: Delta,
): StaticDetails['problems'] {
  const before = new Map(base.map(({ path, text }) => [path, text]))
  const unreadable = candidate.flatMap(({ path, text, facts: { error } }) =>
    error === null || before.get(path) === text
      ? []
      : [{ path, line: error.line, problem: `is no program: ${error.what}` }],
  )
  const reached = reachedFrom('main.ts', candidate)
  const idle = candidate
    .filter(({ path }) => path.endsWith('.ts') && !before.has(path) && !isTest(path) && !reached.has(path))
    .map(({ path }) => ({
      path,
      line: 1,
      problem: 'is never loaded: nothing imports it. A tool needs its line in tools/index.ts',
    }))
  const loadedTests = candidate
    .filter(
      ({ path }) =>
        isTest(path) && path.endsWith('.ts') && reached.has(path) && !reachedFrom('main.ts', base).has(path),
    )
    .map(({ path }) => ({
      path,
      line: 1,
      problem: 'is a test, and the program loads it: move what it needs elsewhere',
    }))
  const hidden = delta.hiding.map(({ path, line, what }) => ({
    path,
    line,
    problem: what.startsWith('never runs')
      ? `${what}. Leave it out, or let it run`
      : `${what}: write down what it does`,
  }))
  return [...unreadable, ...hidden, ...idle, ...loadedTests, ...neverCalled(base, candidate, reached)]
}

/** Functions of the program that nothing asks for: new ones, and those that something did ask for before. */
function neverCalled(
  base: readonly ReadFile[],
  candidate: readonly ReadFile[],
  reached: ReadonlySet<string>,
): StaticDetails['problems'] {
  const idle = (files: readonly ReadFile[]) => {
    const own = files.filter(({ path }) => path.endsWith('.ts') && !isTest(path))
    const used = new Set(own.flatMap(({ facts }) => facts.uses.filter((name) => /^[.^]/.test(name))))
    return own.flatMap(({ path, facts }) => {
      const here = new Set(facts.uses)
      const isUsed = (name: string) => here.has(name) || used.has(name) || used.has(`^${name}`) || used.has(`.${name}`)
      return facts.functions.filter(({ what }) => !isUsed(what)).map(({ what, line }) => ({ path, what, line }))
    })
  }
  const before = new Set(idle(base).map(({ what }) => what))
  const isBefore = new Set(base.flatMap(({ facts }) => facts.functions.map(({ what }) => what)))
  return idle(candidate)
    .filter(({ path, what }) => reached.has(path) && !before.has(what))
    .map(({ path, what, line }) => ({
      path,
      line,
      problem: `never runs: nothing calls ${what.replace('.', '')}${isBefore.has(what) ? ' any more' : ''}. Leave it out, or let it run`,
    }))
}

/** Every file that is loaded when `from` is. */
function reachedFrom(from: string, files: readonly ReadFile[]): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set<string>([from])
  for (const path of reached)
    for (const specifier of byPath.get(path)?.facts.imports ?? [])
      reached.add(posix.join(posix.dirname(path), specifier))
  return reached
}

function detailsOf(
  base: readonly ReadFile[],
  candidate: readonly ReadFile[],
  delta: Delta,
  problems: StaticDetails['problems'],
) {
  const changes = changesOf(base, candidate)
  const [before, after] = [base, candidate].map((files) => new Map(files.map(({ path, facts }) => [path, facts])))
  const files = changes.map(({ path, change }) => {
    const [was, is] = [before?.get(path), after?.get(path)]
    const tags = tagsOf(path, (is ?? was) as FileFacts)
    const isSameProgram = was !== undefined && is !== undefined && was.shape !== null && was.shape === is.shape
    return { path, change, tags, isSameProgram }
  })
  const judged = assess(files, delta, new Set([...reachedFrom('main.ts', base), ...reachedFrom('main.ts', candidate)]))
  const details: StaticDetails = {
    version: 1,
    problems: problems.slice(0, listed),
    gained: delta.gained.slice(0, listed),
    lost: delta.lost.slice(0, listed),
    knobs: delta.knobs.slice(0, listed),
    files: judged.files.slice(0, 500),
    tracks: [...new Set(files.flatMap(({ tags }) => tracksOf(tags)))],
    risk: judged.risk,
    reasons: judged.reasons,
    isCut: [problems, delta.gained, delta.lost, delta.knobs].some(({ length }) => length > listed),
  }
  return details
}

function summaryOf({ gained, lost, knobs, files, tracks }: StaticDetails): string {
  const isReach = ({ kind }: { kind: string }) => kind !== 'prompt' && kind !== 'tool'
  const names = (facts: readonly { kind: string; what: string }[]) => [
    ...new Set(facts.filter(isReach).map(({ what }) => what)),
  ]
  const some = (what: string, all: string[]) =>
    all.length === 0
      ? []
      : [`${what} ${all.slice(0, 4).join(', ')}${all.length > 4 ? ` and ${all.length - 4} more` : ''}`]
  const spending = knobs
    .filter(({ buysBudget }) => buysBudget)
    .map(({ name, before, after }) => `${name} ${before ?? 'none'} → ${after ?? 'none'}`)
  const parts = [...some('gains', names(gained)), ...some('loses', names(lost)), ...some('spends more by', spending)]
  const touched = `${files.length} ${files.length === 1 ? 'file' : 'files'} of ${tracks.join(' and ') || 'no known part'}`
  return parts.length === 0 ? `reaches for nothing more: ${touched}` : `${parts.join('; ')}: ${touched}`
}
