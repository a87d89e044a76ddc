import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft, type Event } from '../wire/events.ts'
import type { Rule, RuleDraft, RulePreview } from '../wire/operator-review.ts'
import type { Core } from './core.ts'
import { turnedDown } from './recurrence.ts'
import type { AgentState, ProposalRecord } from './state.ts'

/** A rule as its events have it; hits and what came of them are read off the proposals. */
export type RuleRecord = Omit<Rule, 'hits' | 'lastHitAt' | 'regressions' | 'state'> & { isRevoked: boolean }

const day = 24 * 60 * 60_000
const daysByDefault = 14
const regressionsMax = 2
const previewed = 60

/** The rules after one more event. */
export function advanceRules(rules: readonly RuleRecord[], { at, data }: Event<'rule.changed'>): readonly RuleRecord[] {
  if (data.change === 'added')
    return [...rules, { ...(data.body as unknown as RuleRecord), rule: data.rule, createdAt: at, isRevoked: false }]
  return rules.map((one) => (one.rule === data.rule ? { ...one, isRevoked: true } : one))
}

/** Why a rule does not cover a proposal, which then waits for a person; null: it does. What only a person may decide wins. */
function uncovered(
  rule: Pick<RuleRecord, 'agent' | 'tags' | 'except' | 'maxChangedLines'>,
  agent: string,
  one: ProposalRecord,
): string | null {
  if (rule.agent !== null && rule.agent !== agent) return 'it is of another agent'
  if (one.by !== 'executor' || one.derived !== null) return 'a person made it'
  if (one.risk !== 'LOW') return `its risk is ${one.risk ?? 'not known'}`
  if (one.unresolved.length > 0) return `${one.unresolved.join(', ')} could not be decided`
  const lines = one.files.reduce((sum, { addedLines, removedLines }) => sum + addedLines + removedLines, 0)
  if (lines > rule.maxChangedLines) return `it changes ${lines} lines`
  const excepted = one.files.find(({ path }) => rule.except.some((place) => isAt(path, place)))
  if (excepted !== undefined) return `${excepted.path} is excepted`
  if (rule.tags.length === 0) return null
  const strange = one.files.find(({ path }) => {
    const tags = one.fileRisks?.find((file) => file.path === path)?.tags ?? []
    return tags.length === 0 || tags.some((tag) => !rule.tags.includes(tag))
  })
  return strange === undefined ? null : `${strange.path} is more than ${rule.tags.join(', ')}`
}

/** A file, or a folder with all in it, with or without a slash at its end; on some disks case makes no difference. */
function isAt(path: string, place: string): boolean {
  const [a, b] = [path.normalize('NFC').toLowerCase(), place.normalize('NFC').toLowerCase()]
  return a === b || a.startsWith(b.endsWith('/') ? b : `${b}/`)
}

/** Rules that let LOW proposals take effect without a person, in runs that ask for it. */
export function createRules(core: Core) {
  const { ledger } = core
  const { history, clock } = core.parts

  function shown(record: RuleRecord): Rule {
    const { isRevoked, ...rule } = record
    const hit = ledger.agents().flatMap(({ proposals }) => proposals.filter((one) => one.rule === rule.rule))
    const regressions = ledger.agents().reduce((sum, state) => sum + regressionsOf(state, rule.rule), 0)
    const decidedAt = hit.map((one) => one.reviewedAt ?? 0)
    const isExpired = rule.expiresAt <= clock.now()
    return {
      ...rule,
      hits: hit.length,
      lastHitAt: hit.length === 0 ? null : Math.max(...decidedAt),
      regressions,
      state: isRevoked ? 'revoked' : regressions >= regressionsMax ? 'stopped' : isExpired ? 'expired' : 'active',
    }
  }

  function requirePlaces(except: readonly string[]): void {
    // What can be the path of no file would except nothing, and nobody would know.
    const isOdd = (place: string) =>
      /[*?[\]{}!\\]/.test(place) ||
      place !== place.trim() ||
      place
        .replace(/\/$/, '')
        .split('/')
        .some((step) => /^\.*$/.test(step))
    const odd = except.find(isOdd)
    if (odd !== undefined)
      throw new KernelError('invalid', `${JSON.stringify(odd)} is no path of a policy, nor a folder that ends in /`)
  }

  return {
    list: (): Rule[] => ledger.rules.map(shown).reverse(),

    /** The rule that covers a proposal of the agent that is ready; null: a person decides. Called under the agent's lock. */
    async covering(agent: string, one: ProposalRecord): Promise<string | null> {
      const rule = ledger.rules
        .map(shown)
        .find((each) => each.state === 'active' && uncovered(each, agent, one) === null)
      if (rule === undefined || (await turnedDown(core, agent, one)).length > 0) return null
      failpoint('rule:before-hit')
      return rule.rule
    },

    /** What it would have let through of the latest decided proposals. */
    preview(given: RuleDraft): RulePreview {
      requirePlaces(given.except)
      const decided = ledger
        .agents()
        .filter(({ agent }) => given.agent === null || agent === given.agent)
        .flatMap(({ agent, proposals }) => proposals.map((one) => ({ agent, one })))
        .filter(({ one }) => one.decidedBy !== null)
        .sort((a, b) => b.one.madeSeq - a.one.madeSeq)
        .slice(0, previewed)
      const would = decided
        .filter(({ agent, one }) => uncovered(given, agent, one) === null)
        .map(({ agent, one: { proposal, state, claim } }) => ({ agent, proposal, state, claim }))
      return { of: decided.length, would }
    },

    async add({
      days = daysByDefault,
      createdFrom = null,
      ...given
    }: RuleDraft): Promise<{ rule: string; seq: number }> {
      core.requireOpen()
      requirePlaces(given.except)
      if (given.agent !== null) ledger.state(given.agent)
      return ledger.locked(rulesLock, async () => {
        const rule = `R-${ledger.rules.length + 1}`
        const body = { ...given, createdFrom, expiresAt: Math.round(clock.now() + days * day) }
        failpoint('rule:before-changed')
        const [event] = await history.append([
          draft('rule.changed', { rule, change: 'added', body }, { actor: 'operator' }),
        ])
        return { rule, seq: event?.seq ?? 0 }
      })
    },

    /** @throws KernelError `not-found`; `conflict` where it is revoked already. */
    async revoke(rule: string, reason: string): Promise<{ seq: number }> {
      core.requireOpen()
      return ledger.locked(rulesLock, async () => {
        const found = ledger.rules.find((one) => one.rule === rule)
        if (found === undefined) throw new KernelError('not-found', `there is no rule ${rule}`)
        if (found.isRevoked) throw new KernelError('conflict', `${rule} is revoked already`)
        failpoint('rule:before-revoked')
        const [event] = await history.append([
          draft('rule.changed', { rule, change: 'revoked', body: { reason } }, { actor: 'operator' }),
        ])
        return { seq: event?.seq ?? 0 }
      })
    },
  }
}

/** No agent can have this name. */
const rulesLock = '(rules)'

/** Of what the rule let through: gone back from, or found beyond a limit. */
function regressionsOf({ proposals, activations }: AgentState, rule: string): number {
  return proposals.filter((one) => {
    if (one.rule !== rule) return false
    return one.state === 'rolled-back' || activations.some((each) => each.proposal === one.proposal && each.regressed)
  }).length
}

export type Rules = ReturnType<typeof createRules>
