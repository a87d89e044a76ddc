import type { ProposalDetail, ProposalSummary } from '../../kernel/wire/operator.ts'
import type { TrialRow } from '../../kernel/wire/operator-trials.ts'
import { inert, time } from './text.ts'
import { trialLines } from './trial-lines.ts'

/** What `approve` is told about checks that could not be decided. */
export const overrides = (checks: readonly string[]) => checks.map((check) => ` --override ${check}=REASON`).join('')

/** What stands in the way first, then what was measured; what an agent or a model says is quoted, and comes last. */
export function detailLines(detail: ProposalDetail, trials: readonly TrialRow[] = []): string[] {
  return [
    `${detail.proposal} of ${detail.agent}: ${detail.state}, risk ${detail.risk ?? 'not known yet'}`,
    ...blockLines(detail),
    ...detail.riskReasons.map((reason) => `  risk: ${inert(reason)}`),
    `  revision ${detail.revision}`,
    `  base     ${detail.base}${detail.base === detail.active.revision ? ` (active, r${detail.active.activation})` : ''}`,
    ...fileLines(detail.files),
    ...checkLines(detail.checks),
    ...detail.pendingChecks.map((check) => `  check ${check}: not done`),
    ...trials.flatMap((trial) => trialLines(trial).map((line) => `  ${line}`)),
    ...(detail.state !== 'ready' || detail.expiresAt === null ? [] : [`  expires ${time(detail.expiresAt)}`]),
    ...lineageLines(detail),
    ...detail.comments.map(({ path, side, line, text }) => {
      return `  comment on ${inert(path)}:${line}${side === 'before' ? ' (as it was)' : ''}: ${inert(text, said)}`
    }),
    ...detail.triggers.map(({ seq, kind, text }) => `  evidence: event ${seq} ${kind}: "${inert(text)}"`),
    `  ${detail.by === 'executor' ? 'the agent' : 'the operator'} claims: "${inert(detail.claim)}"`,
    `  why: "${inert(detail.why, said)}"`,
    ...detail.opinions.map(({ seq, model, text }) => {
      return `  ${model} says (event ${seq}; claimed, no verdict): "${inert(text, said)}"`
    }),
  ]
}

/** Longest text of a person, an agent or a model that is shown beside the figures. */
const said = 8_000

function blockLines({ state, reason, blocked, unresolved, problems, deferredUntil }: ProposalDetail): string[] {
  return [
    ...(state === 'ready' || reason === null || blocked?.includes(reason) ? [] : [`  ${inert(reason, said)}`]),
    ...(blocked === null ? [] : [`  no verdict now: ${inert(blocked)}`]),
    ...(unresolved.length === 0 ? [] : [`  not decided: an approval needs${overrides(unresolved)}`]),
    ...problems.map(({ path, problem }) => `  refused: ${inert(path)}: ${inert(problem)}`),
    ...(deferredUntil === null ? [] : [`  put off until ${time(deferredUntil)}`]),
  ]
}

const rank = { fail: 0, unresolved: 1, pass: 2 } as const

/** What it was made from or into, and what became of the one before it. */
function lineageLines({ derivedFrom, derivedTo, predecessor, category }: ProposalDetail): string[] {
  return [
    ...(derivedFrom === null
      ? []
      : [
          `  made by the operator out of ${derivedFrom.proposal}: ${derivedFrom.agentLines} lines of the agent, ${derivedFrom.operatorLines} of the operator`,
        ]),
    ...(derivedTo === null ? [] : [`  the operator made ${derivedTo} out of it`]),
    ...(category === null ? [] : [`  rejected as ${category}`]),
    ...(predecessor === null
      ? []
      : [
          `  before it, ${predecessor.proposal} was ${predecessor.state}${predecessor.isSameContent ? ', with the same change' : ''}${predecessor.reason === null ? '' : `: ${inert(predecessor.reason)}`}`,
        ]),
  ]
}

/** Those that did not pass come first. */
export function checkLines(checks: ProposalDetail['checks']): string[] {
  const sorted = checks.toSorted((a, b) => rank[a.verdict] - rank[b.verdict])
  return sorted.map(({ check, verdict, summary }) => `  check ${check}: ${verdict}: ${inert(summary)}`)
}

export function fileLines(files: ProposalSummary['files']): string[] {
  return files.map((file) => `  ${file.change} ${inert(file.path)} +${file.addedLines} −${file.removedLines}`)
}
