import { type LeakageDetails, type StaticDetails, staticDetailsSchema } from '../../wire/operator-checks.ts'
import { isTest } from './charter.ts'
import { type Candidate, type Check, fail, pass, unresolved } from './check.ts'
import { Copying } from './copying.ts'
import { changesOf } from './delta.ts'
import { disguises } from './disguises.ts'
import { judgesTheTask } from './facts/commands.ts'

/** A text that a policy may not carry in itself: it would answer by heart what it should find out. */
export interface ProtectedText {
  /** `instruction of T-3`. */
  label: string
  /** Null: it cannot be had any more. */
  text: string | null
  /** An id is looked for as it is. */
  isId?: boolean
}

type Leak = LeakageDetails['leaks'][number]

/** Whether the change carries words of a task, its grader or its answers, or decides by which task it runs. */
export const leakage: Check = {
  name: 'leakage',
  description: 'Whether it carries words of a task or of its grader, or decides by which task it runs.',
  gates: true,
  thresholds: {},
  rules: { version: 2 },
  async run(candidate, { protectedTexts }) {
    if (protectedTexts === undefined) return unresolved('no texts of tasks can be had here: nothing was compared')
    const texts = await protectedTexts(candidate.agent)
    const leaks = leaksIn(candidate, texts)
    const details: LeakageDetails = {
      version: 1,
      leaks: leaks.slice(0, 50),
      protectedTexts: texts.filter(({ text }) => text !== null).length,
      missing: texts.filter(({ text }) => text === null).map(({ label }) => label),
    }
    const [first] = leaks
    if (first !== undefined) {
      const more = leaks.length > 1 ? `; and ${leaks.length - 1} more` : ''
      return fail(
        `${first.path}:${first.line} ${words[first.kind]} (${first.of}): “${first.text.slice(0, 120)}”${more}. Leave it out: find it out while it runs`,
        details,
      )
    }
    if (isCut(candidate.checks))
      return unresolved('the change has more to tell than is kept of it: propose it in smaller parts', details)
    const missing = details.missing.length === 0 ? '' : `; not compared with ${details.missing.join(', ')}`
    return pass(`carries nothing of ${details.protectedTexts} texts of tasks${missing}`, details)
  },
}

const words: Record<Leak['kind'], string> = {
  copied: 'copies words of a task',
  reworded: 'has words of a task, put a little differently',
  id: 'names a task',
  grader: 'reaches for what judges the task',
  identity: 'decides by which task it runs',
}

/** Pure. */
function leaksIn(
  { base, files, checks }: Pick<Candidate, 'base' | 'files' | 'checks'>,
  texts: readonly ProtectedText[],
): Leak[] {
  const whole = texts.filter((one): one is ProtectedText & { text: string } => one.text !== null && one.isId !== true)
  const copying = new Copying(
    whole.map(({ text }) => text),
    base.map(({ text }) => text).join('\n'),
  )
  const ids = texts.flatMap(({ text, label, isId }) =>
    isId === true && text !== null && text.length > 3 ? [{ label, text }] : [],
  )
  const found = changesOf(base, files).flatMap(({ path, before, after }): Leak[] => {
    if (after === null) return []
    const lineAt = (index: number) => after.slice(0, index).split('\n').length
    const copies = copying.in(after).map(({ from, to, of, how }): Leak => {
      return {
        path,
        line: lineAt(from),
        of: whole[of]?.label ?? '',
        kind: how,
        text: after.slice(from, Math.min(to, from + 400)),
      }
    })
    const named = ids.flatMap(({ label, text }): Leak[] => {
      const at =
        /\.(?:ts|json)$/.test(path) && before?.includes(text) !== true
          ? after.toLowerCase().indexOf(text.toLowerCase())
          : -1
      return at < 0 ? [] : [{ path, line: lineAt(at), of: label, kind: 'id', text }]
    })
    const disguised = disguises(after).flatMap(({ text, line, how }): Leak[] => {
      const [copy] = copying.in(text)
      const of = copy === undefined ? undefined : whole[copy.of]?.label
      return of === undefined
        ? []
        : [{ path, line, of: `${of}, ${how}`, kind: 'copied', text: text.slice(copy?.from, copy?.to) }]
    })
    return [...copies, ...named, ...disguised]
  })
  const read = factsIn(checks)
  const composed = read.flatMap(({ kind, what, path, line }): Leak[] => {
    const text = kind === 'decoding' ? /^comes to ([\s\S]+)$/.exec(what)?.[1] : undefined
    const [copy] = text === undefined ? [] : copying.in(text)
    if (text === undefined || copy === undefined) return []
    return [{ path, line, of: `${whole[copy.of]?.label ?? ''}, put together`, kind: 'copied', text }]
  })
  const judges = read.flatMap(({ kind, what, path, line }): Leak[] =>
    kind === 'command' && what === judgesTheTask && !isTest(path)
      ? [{ path, line, of: 'tests, answers or reward', kind: 'grader', text: textAt(files, path, line) }]
      : [],
  )
  return [...found, ...composed, ...judges, ...decisions(read, texts)]
}

/** What the static check found, if it has read the sources. */
function factsIn(checks: Candidate['checks']): StaticDetails['gained'] {
  const read = staticDetailsSchema.safeParse(checks.find(({ check }) => check === 'static')?.details)
  return read.success ? read.data.gained : []
}

function isCut(checks: Candidate['checks']): boolean {
  const read = staticDetailsSchema.safeParse(checks.find(({ check }) => check === 'static')?.details)
  return read.success && read.data.isCut
}

function textAt(files: Candidate['files'], path: string, line: number): string {
  const text = files.find((file) => file.path === path)?.text ?? ''
  return (text.split('\n')[line - 1] ?? '').trim().slice(0, 400)
}

/** What the static check found to be decided by a task's own id or words. */
function decisions(gained: StaticDetails['gained'], texts: readonly ProtectedText[]): Leak[] {
  const plain = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
  return gained.flatMap(({ kind, what, path, line }): Leak[] => {
    const found = kind === 'identity' ? /^(id|instruction|title): ([\s\S]+)$/.exec(what) : null
    const [, by, text = ''] = found ?? []
    if (by === 'id') return [{ path, line, of: `id ${text}`, kind: 'identity', text }]
    const said = plain(text)
    if (by === undefined || said.length < 3) return []
    const of = texts.find((one) => one.text !== null && ` ${plain(one.text)} `.includes(said))
    return of === undefined ? [] : [{ path, line, of: of.label, kind: 'identity', text }]
  })
}
