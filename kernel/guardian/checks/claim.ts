import type { TreeFile } from '../../sandbox/sandbox.ts'
import { type ClaimDetails, type StaticDetails, staticDetailsSchema } from '../../wire/operator-checks.ts'
import { isTest } from './charter.ts'
import { type Candidate, type Check, fail, pass } from './check.ts'
import { changesOf, modelCallsKnob } from './delta.ts'
import { type Statement, statementsIn } from './statements.ts'

/** A claim that is about what is written and not about what runs. */
const aboutText =
  /\b(?:comments?|remarks?|docs?|docstrings?|document(?:s|ed|ation)?|readme|formatt\w+|layout|spelling|typos?|wording|whitespace|reverts?|restores?)\b/i

const saysNoEffect: ReadonlySet<string> = new Set<Statement['kind']>(['comments-only', 'same-behaviour'])

/** As many earlier revisions are looked through, the latest first. */
const earlierMost = 50

/** What is said of the change against the change. Only what it plainly contradicts fails; the rest is shown. */
export const claim: Check = {
  name: 'claim',
  description: 'Whether the change contradicts what is said of it.',
  gates: true,
  thresholds: {},
  rules: { version: 1 },
  async run(candidate, { revisions }) {
    const said = (['claim', 'why'] as const).flatMap((from) =>
      statementsIn(candidate[from]).map((statement) => ({ from, statement })),
    )
    const isEarlierAsked = said.some(({ statement }) => statement.kind === 'reverted')
    const hashes = isEarlierAsked ? candidate.authorised.slice(-earlierMost) : []
    const earlier = await Promise.all(hashes.map((hash) => revisions.read(hash)))
    const facts = factsOf(candidate, earlier)
    if (!said.some(({ statement }) => saysNoEffect.has(statement.kind)) && !aboutText.test(candidate.claim))
      said.push({
        from: 'claim',
        statement: { kind: 'effect', text: candidate.claim.slice(0, 500), paths: [], areas: [] },
      })
    const statements: ClaimDetails['statements'] = said.map(({ from, statement }) => {
      const [verdict, found] = judges[statement.kind](statement, facts)
      return { text: statement.text, from, kind: statement.kind, verdict, found }
    })
    const details: ClaimDetails = { version: 1, statements }
    const wrong = statements.filter(({ verdict }) => verdict === 'false')
    const [first] = wrong
    // A person's change of an agent's proposal still carries the agent's words.
    if (first !== undefined && candidate.by === 'executor')
      return fail(
        `“${first.text.slice(0, 200)}” is not so: ${first.found}. Say what the change does, or change what it does`,
        details,
      )
    const held = statements.filter(({ verdict }) => verdict === 'true').length
    return pass(
      statements.every(({ kind }) => kind === 'effect')
        ? 'says nothing that the change could contradict'
        : `${held} of ${statements.length} statements ${held === 1 ? 'holds' : 'hold'}; nothing contradicts the others`,
      details,
    )
  },
}

type Judgement = [verdict: 'true' | 'false' | 'not-decided', found: string]

interface Facts {
  changed: ReturnType<typeof changesOf>
  files: readonly TreeFile[]
  earlier: readonly (readonly TreeFile[])[]
  /** Null: the static check has not read them. */
  read: StaticDetails | null
}

function factsOf({ base, files, checks }: Candidate, earlier: readonly (readonly TreeFile[])[]): Facts {
  const read = staticDetailsSchema.safeParse(checks.find(({ check }) => check === 'static')?.details)
  return { changed: changesOf(base, files), files, earlier, read: read.success ? read.data : null }
}

const notRead: Judgement = ['not-decided', 'the sources have not been read by the static check']
const list = (paths: readonly string[]): string =>
  paths.slice(0, 5).join(', ') + (paths.length > 5 ? ` and ${paths.length - 5} more` : '')

/** A file is named by its path, or by the end of it. */
const isNamed = (path: string, { paths }: Statement): boolean =>
  paths.some((one) => path === one || path.endsWith(`/${one}`))

const judges: Record<Statement['kind'], (statement: Statement, facts: Facts) => Judgement> = {
  'comments-only': (_statement, { read }) => {
    if (read === null) return notRead
    const code = read.files
      .filter(({ path, isSameProgram }) => /\.(?:ts|json)$/.test(path) && !isSameProgram)
      .map(({ path }) => path)
    return code.length === 0 ? ['true', 'the programs are the same'] : ['false', `code differs in ${list(code)}`]
  },

  effect: (_statement, { read, changed }) => {
    if (read === null) return notRead
    const isSame = read.files.every(({ isSameProgram }) => isSameProgram)
    if (isSame)
      return [
        'false',
        `only comments and layout of ${list(changed.map(({ path }) => path))} differ: what runs is the same`,
      ]
    return ['not-decided', 'what runs differs; whether it helps is for trials and probation to show']
  },

  // A rewriting may well do the same: only what it reaches for or spends tells otherwise.
  'same-behaviour': (_statement, { read }) => {
    if (read === null) return notRead
    const [fact] = [...read.gained, ...read.lost].filter(({ kind, path }) => kind !== 'decoding' && !isTest(path))
    if (fact !== undefined)
      return ['false', `${fact.path}:${fact.line} differs in ${fact.kind}: ${fact.what.slice(0, 100)}`]
    const [knob] = read.knobs.filter(({ path, name }) => !isTest(path) && name !== modelCallsKnob)
    if (knob !== undefined)
      return ['false', `${knob.name} goes from ${knob.before ?? 'none'} to ${knob.after ?? 'none'}`]
    const isSame = read.files.every(
      ({ path, isSameProgram }) => isSameProgram || isTest(path) || /\.(?:md|txt)$/.test(path),
    )
    return isSame
      ? ['true', 'the programs are the same']
      : ['not-decided', 'the programs differ, and whether they do the same cannot be told']
  },

  reverted: (statement, { changed, earlier }) => {
    const about = statement.paths.length === 0 ? changed : changed.filter(({ path }) => isNamed(path, statement))
    if (about.length === 0) return ['false', `${list(statement.paths)} is not changed`]
    const textIn = (tree: readonly TreeFile[], path: string) => tree.find((file) => file.path === path)?.text ?? null
    const isBack = ({ path, after }: (typeof changed)[number]) => earlier.some((tree) => textIn(tree, path) === after)
    const back = about.filter(isBack)
    if (back.length === about.length)
      return ['true', `${list(back.map(({ path }) => path))} is as in an earlier revision`]
    const others = list(about.filter((one) => !isBack(one)).map(({ path }) => path))
    if (back.length === 0) return ['false', `${others} is as in no earlier revision that was ever allowed to run`]
    return ['not-decided', `${list(back.map(({ path }) => path))} is as before, ${others} is not`]
  },

  'tests-added': (_statement, { changed }) => {
    const tests = changed.filter(({ path, change }) => isTest(path) && change !== 'removed').map(({ path }) => path)
    return tests.length > 0 ? ['true', `adds to ${list(tests)}`] : ['false', 'no test is added or changed']
  },

  'tests-pass': (_statement, { files }) => {
    const tests = files.filter(({ path }) => isTest(path)).length
    return tests === 0
      ? ['false', 'it brings no tests']
      : ['not-decided', `it brings ${tests} files of tests; this check runs none`]
  },

  'only-files': (statement, { changed }) => {
    const others = changed.filter(({ path }) => !isNamed(path, statement)).map(({ path }) => path)
    return others.length === 0 ? ['true', 'nothing else is changed'] : ['false', `${list(others)} is changed as well`]
  },

  untouched: (statement, { changed, read }) => {
    const touched = changed.filter(({ path }) => isNamed(path, statement)).map(({ path }) => path)
    if (touched.length > 0) return ['false', `${list(touched)} is changed`]
    if (statement.areas.length === 0) return ['true', 'it is not changed']
    if (read === null) return notRead
    // Words for parts are loose: a text of comments only is none of them, and a new tool has a text of its own.
    const inArea = read.files
      .filter(
        ({ change, tags, isSameProgram }) =>
          change === 'changed' && !isSameProgram && statement.areas.some((area) => tags.includes(area)),
      )
      .map(({ path }) => path)
    if (inArea.length === 0) return ['true', 'no file of that part is changed']
    const isPrompt =
      statement.areas.includes('prompt') &&
      read.files.some(({ path, tags }) => tags.includes('prompt') && inArea.includes(path))
    return [isPrompt ? 'false' : 'not-decided', `${list(inArea)} is changed`]
  },

  touched: (statement, { changed }) => {
    const missing = statement.paths.filter(
      (path) => !changed.some((one) => isNamed(one.path, { ...statement, paths: [path] })),
    )
    return missing.length === 0 ? ['true', 'they are changed'] : ['not-decided', `${list(missing)} is not changed`]
  },
}
