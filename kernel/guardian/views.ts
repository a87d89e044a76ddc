import type { ActivationRow } from '../history/history.ts'
import type { ProposalDetail, ProposalSummary, RevisionRow } from '../wire/operator.ts'
import type { Core } from './core.ts'
import { detailOf } from './detail.ts'
import type { Review } from './review.ts'
import type { ActivationRecord, AgentState, ProposalRecord } from './state.ts'

/** What the operator's desk is shown of the ledger, with figures from history's roll-ups. */
export function createViews(core: Core, review: Review) {
  const { ledger } = core
  const { history, revisions } = core.parts

  function summary(agent: string, one: ProposalRecord): ProposalSummary {
    const lines = (of: 'addedLines' | 'removedLines') => one.files.reduce((sum, file) => sum + file[of], 0)
    return {
      agent,
      proposal: one.proposal,
      task: one.task,
      state: review.stateOf(agent, one),
      revision: one.revision,
      base: one.base,
      risk: one.risk,
      riskReasons: [...one.riskReasons],
      claim: one.claim,
      by: one.by,
      files: one.files.map((file) => {
        const judged = one.fileRisks?.find(({ path }) => path === file.path)
        return judged === undefined
          ? { ...file }
          : { ...file, ...judged, reasons: [...judged.reasons], tags: [...judged.tags] }
      }),
      addedLines: lines('addedLines'),
      removedLines: lines('removedLines'),
      madeAt: one.madeAt,
      madeSeq: one.madeSeq,
      decidedAt: one.decidedAt,
      deferredUntil: one.deferredUntil,
      recalledAt: one.recalledAt,
      reason: one.reason,
      activation: one.activation,
    }
  }

  function onApprove(agent: string, active: ActivationRecord): string[] {
    const target = core.targets.get(agent)
    const next = `r${active.activation + 1}`
    return [
      target === undefined
        ? `No task of this agent is running: it is started once on trial, then becomes active as ${next} for the agent's next task.`
        : `It is started beside r${active.activation}; at the next step boundary ${target.task} goes on under it as ${next}.`,
      core.profile.probation.steps > 0
        ? `For its first ${core.profile.probation.steps} steps it is in probation: a crash or a hang brings r${active.activation} back by itself; a breach of its limits does so too, or is a notice, as you choose.`
        : 'There is no probation.',
    ]
  }

  function row(state: AgentState, one: ActivationRecord, rows: readonly ActivationRow[]): RevisionRow {
    const { activation, revision, previous, cause, proposal, authorisedBy, at, seq, reason } = one
    const own = rows.filter((figures) => figures.activation === activation)
    const input = own.reduce((sum, { uncached, cacheRead, cacheWrite }) => sum + uncached + cacheRead + cacheWrite, 0)
    const cached = own.reduce((sum, { cacheRead }) => sum + cacheRead, 0)
    return {
      ...{ activation, revision, previous, cause, proposal, authorisedBy, at, seq, reason },
      claim: state.proposals.find((made) => made.proposal === proposal)?.claim ?? null,
      state: one.state,
      steps: own.reduce((sum, { steps }) => sum + steps, 0),
      costNanoUsd: own.some(({ costNanoUsd }) => costNanoUsd === null)
        ? null
        : own.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0),
      progressDelta: progressDelta(state, own),
      cachedShare: input === 0 ? null : cached / input,
    }
  }

  return {
    list({ agent, waiting }: { agent?: string; waiting?: boolean }): ProposalSummary[] {
      const states = agent === undefined ? ledger.agents() : [ledger.state(agent)]
      return states
        .flatMap((state) => state.proposals.map((one) => summary(state.agent, one)))
        .filter((one) => waiting !== true || one.state === 'ready')
        .sort((a, b) => b.madeSeq - a.madeSeq)
    },

    async get(agent: string, proposal: string): Promise<ProposalDetail> {
      const one = ledger.proposal(agent, proposal)
      const active = ledger.mustBeActive(agent)
      const reported = new Set(one.checks.map(({ check }) => check))
      const pending = one.state === 'checking' ? core.profile.checks.filter(({ name }) => !reported.has(name)) : []
      return {
        ...summary(agent, one),
        why: one.why,
        expects: one.expects,
        evidence: [...one.evidence],
        sizeBytes: one.sizeBytes,
        problems: one.problems.map((problem) => ({ ...problem })),
        checks: one.checks.map(({ hash: _hash, gates: _gates, ...check }) => check),
        pendingChecks: pending.map(({ name }) => name),
        active: { revision: active.revision, activation: active.activation },
        onApprove: onApprove(agent, active),
        undo: `Roll back to r${active.activation}: one step, at any time.`,
        blocked: review.blocked(agent, proposal),
        ...(await detailOf(core, agent, one)),
      }
    },

    async file(
      agent: string,
      proposal: string,
      path: string,
    ): Promise<{ before: string | null; after: string | null }> {
      const { base, revision } = ledger.proposal(agent, proposal)
      const [before, after] = await Promise.all([revisions.read(base), revisions.read(revision)])
      const text = (files: typeof before) => files.find((file) => file.path === path)?.text ?? null
      return { before: text(before), after: text(after) }
    },

    async revisions(agent: string): Promise<RevisionRow[]> {
      const state = ledger.state(agent)
      const figures = (await Promise.all(state.tasks.map(({ task }) => history.activations(task)))).flat()
      return state.activations.map((one) => row(state, one, figures)).reverse()
    },
  }
}

/** Over tasks that measure the same thing; null where none moved, or where they measure different things. */
function progressDelta(state: AgentState, rows: readonly ActivationRow[]): number | null {
  const moved = rows.filter(({ progressTo }) => progressTo !== null)
  const units = new Set(moved.map(({ task }) => state.tasks.find((one) => one.task === task)?.unit))
  if (moved.length === 0 || units.size > 1) return null
  return moved.reduce((sum, { progressFrom, progressTo }) => sum + (progressTo ?? 0) - (progressFrom ?? 0), 0)
}
