import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { FileHunks, Hunk } from '../revisions/revisions.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventData } from '../wire/events.ts'
import type { PolicyFileChange } from '../wire/executor.ts'
import { staticDetailsSchema } from '../wire/operator-checks.ts'
import { type Bindings, lookAgain } from './binding.ts'
import type { Checking } from './checking.ts'
import { isForbidden, keptWords } from './checks/charter.ts'
import { treeProblems } from './checks/scope.ts'
import type { Core } from './core.ts'
import type { DeriveInput, Guardian } from './guardian.ts'
import { hunkRisks } from './hunk-risk.ts'
import { requireRoom } from './review.ts'

/** An event has room for so many changes that fell; of more, those without a reason are counted. */
const listedMost = 500

type Fallen = NonNullable<EventData<'proposal.made'>['derived']>['fallen']

/**
 * Approve a part, and edit then approve: the operator's own proposal, made of another's hunks and of their edits. It takes the
 * other's place, its checks run, and it waits for its own verdict. Nothing that runs changes.
 */
export function createDerive(core: Core, bindings: Bindings, checking: Checking) {
  const { ledger } = core
  const { history, revisions } = core.parts

  async function trees(agent: string, proposal: string) {
    const { base, revision } = ledger.proposal(agent, proposal)
    const [before, after] = await Promise.all([revisions.read(base), revisions.read(revision)])
    return { before, after }
  }

  return {
    async hunks(agent: string, proposal: string): ReturnType<Guardian['hunks']> {
      const { risk, riskReasons, fileRisks = [], checks } = ledger.proposal(agent, proposal)
      const read = staticDetailsSchema.safeParse(checks.findLast(({ check }) => check === 'static')?.details)
      const { before, after } = await trees(agent, proposal)
      return revisions.cut(before, after).map(({ path, change, hunks, isCompared }) => {
        const known = fileRisks.find((file) => file.path === path)
        const judged = known ?? { path, risk: risk ?? ('MED' as const), reasons: [...riskReasons] }
        const lines = hunks.map(linesOf)
        const risks = hunkRisks(judged, lines, known !== undefined && read.success ? read.data : null)
        const shown = risks.flatMap((one, index) => {
          const hunk = lines[index]
          return hunk === undefined ? [] : [{ ...hunk, ...one }]
        })
        return { path, change, isCompared, hunks: shown }
      })
    },

    async derive(input: Parameters<Guardian['derive']>[0]): ReturnType<Guardian['derive']> {
      core.requireOpen()
      const { agent } = input
      const barred = (input.edits ?? []).find(({ path }) => isForbidden(path))
      if (barred !== undefined) throw new KernelError('invalid', keptWords(barred.path))
      const { one, binding } = await ledger.locked(agent, async () => bindings.spend(input))
      const { before, after } = await trees(agent, one.proposal)
      const cut = revisions.cut(before, after)
      const kept = input.keep === undefined ? [...after] : revisions.keep(before, after, input.keep)
      const files = edited(kept, input.edits ?? [])
      const fallen = fallenOf(cut, input)
      requireUsable(one.proposal, { before, after, files }, revisions.compare)
      const revision = await revisions.put(files)
      const how = (input.edits ?? []).length > 0 ? ('edit' as const) : ('part' as const)
      const derived = {
        from: one.proposal,
        how,
        agentLines: changedLines(revisions.compare(before, kept)),
        operatorLines: changedLines(revisions.compare(kept, files)),
        fallen,
      }
      failpoint('derive:stored')
      const proposal = await ledger.locked(agent, async () => {
        const { state } = ledger.proposal(agent, one.proposal)
        if (state !== 'ready') throw lookAgain(`${one.proposal} is ${state}`)
        const made = `P-${ledger.state(agent).proposals.length + 1}`
        const { claim, evidence, expects, task } = one
        const why = input.reason.trim() === '' ? one.why : input.reason
        const data = {
          ...{ proposal: made, revision, base: binding.base, claim, why, evidence: [...evidence], expects, derived },
          by: 'operator' as const,
          files: revisions.compare(before, files),
          sizeBytes: files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
          problems: [],
        }
        failpoint('derive:before-made')
        await history.appendIfActive(agent, binding.base, [
          draft('proposal.made', data, { actor: 'operator', agent, task }),
          draft('proposal.superseded', { proposal: one.proposal, by: made }, { actor: 'operator', agent, task }),
        ])
        failpoint('derive:after-made')
        return made
      })
      checking.start(agent, proposal)
      return { proposal, revision, state: ledger.proposal(agent, proposal).state }
    },

    /** @see Guardian.look */
    async look(agent: string, proposal: string, revision: string, path: string, viewed: boolean) {
      core.requireOpen()
      const one = ledger.proposal(agent, proposal)
      if (one.revision !== revision) throw new KernelError('conflict', `${proposal} is of another revision: look again`)
      if (!one.files.some((file) => file.path === path))
        throw new KernelError('not-found', `${proposal} does not change ${path}`)
      const hash = (await revisions.hashes(revision)).get(path) ?? null
      const data = { proposal, revision, path, hash, viewed }
      const [event] = await history.append([
        draft('proposal.looked', data, { actor: 'operator', agent, task: one.task }),
      ])
      return { seq: event?.seq ?? 0 }
    },
  }
}

function edited(files: readonly TreeFile[], edits: NonNullable<DeriveInput['edits']>): TreeFile[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  for (const { path, text } of edits) {
    if (text !== null) texts.set(path, text)
    else if (!texts.delete(path)) throw new KernelError('invalid', `${path} is not there: it cannot be removed`)
  }
  return [...texts].map(([path, text]) => ({ path, text }))
}

/** Hunks that were not kept, each with the operator's reason or none. @throws KernelError `invalid` for a reason that fits none. */
function fallenOf(cut: readonly FileHunks[], { keep, fallen = [] }: DeriveInput): Fallen {
  // A file may have tens of thousands of changes: each list is gone through once.
  const kept = new Set((keep ?? []).flatMap(({ path, hunks }) => hunks.map((id) => keyOf(path, id))))
  const isKept = (path: string, id: string) => keep === undefined || kept.has(keyOf(path, id))
  const all = cut.flatMap(({ path, hunks }) =>
    hunks.filter(({ id }) => !isKept(path, id)).map((hunk) => ({ path, hunk })),
  )
  const known = new Set(all.map(({ path, hunk }) => keyOf(path, hunk.id)))
  const stray = fallen.find((said) => !known.has(keyOf(said.path, said.hunk)))
  if (stray !== undefined)
    throw new KernelError(
      'invalid',
      `a reason is given for change ${stray.hunk} of ${stray.path}, which has not fallen`,
    )
  const reasons = new Map(fallen.toReversed().map((said) => [keyOf(said.path, said.hunk), said.reason]))
  const told = all.map(({ path, hunk }) => ({
    path,
    lines: placeOf(hunk),
    reason: reasons.get(keyOf(path, hunk.id)) ?? '',
  }))
  const said = told.length > listedMost ? withoutMany(told) : told
  requireRoom(said, 'the changes that fell, with their reasons,')
  return said
}

/** Of each file those with a reason, and how many there are beside them. */
function withoutMany(fallen: Fallen): Fallen {
  const silent = new Map<string, number>()
  for (const { path, reason } of fallen) if (reason === '') silent.set(path, (silent.get(path) ?? 0) + 1)
  const counted = [...silent].map(([path, count]) => ({
    path,
    lines: count === 1 ? '1 more change' : `${count} more changes`,
    reason: '',
  }))
  return [...fallen.filter(({ reason }) => reason !== ''), ...counted]
}

const keyOf = (path: string, hunk: string): string => JSON.stringify([path, hunk])

/** As the contract has them: 1-based, and of an empty side the line after which it stands. */
function linesOf({ id, beforeStart, beforeLines, afterStart, afterLines }: Hunk) {
  const first = (start: number, lines: number) => (lines === 0 ? start : start + 1)
  return {
    ...{ id, beforeLines, afterLines },
    beforeLine: first(beforeStart, beforeLines),
    afterLine: first(afterStart, afterLines),
  }
}

function placeOf(hunk: Hunk): string {
  const { beforeLine, beforeLines, afterLine, afterLines } = linesOf(hunk)
  const range = (line: number, lines: number) =>
    lines === 0 ? 'nothing' : lines === 1 ? `line ${line}` : `lines ${line}–${line + lines - 1}`
  return afterLines === 0 ? `removal of ${range(beforeLine, beforeLines)}` : range(afterLine, afterLines)
}

function requireUsable(
  proposal: string,
  { before, after, files }: Record<'before' | 'after' | 'files', readonly TreeFile[]>,
  compare: (from: readonly TreeFile[], to: readonly TreeFile[]) => PolicyFileChange[],
): void {
  if (compare(before, files).length === 0)
    throw new KernelError('invalid', `nothing of ${proposal} is left: reject it, or return it with comments`)
  if (compare(after, files).length === 0)
    throw new KernelError('invalid', `that is ${proposal} as it is, with nothing left out: approve it itself`)
  const [problem] = treeProblems(files)
  if (problem !== undefined) throw new KernelError('invalid', `${problem.path}: ${problem.problem}`)
}

function changedLines(files: readonly PolicyFileChange[]): number {
  return files.reduce((sum, { addedLines, removedLines }) => sum + addedLines + removedLines, 0)
}
