import type { Event } from '../wire/events.ts'
import type { ProposalDetail } from '../wire/operator.ts'
import type { Core } from './core.ts'
import { turnedDown } from './recurrence.ts'
import type { ProposalRecord } from './state.ts'

type Part<K extends keyof ProposalDetail> = Pick<ProposalDetail, K>

const triggersShown = 100
const triggerCharacters = 300

/** What a proposal's detail says beyond its own events: of what came before it, and of what the operator did with it. */
export async function detailOf(
  core: Core,
  agent: string,
  one: ProposalRecord,
): Promise<
  Part<
    | 'unresolved'
    | 'looked'
    | 'derivedFrom'
    | 'derivedTo'
    | 'predecessor'
    | 'comments'
    | 'category'
    | 'expiresAt'
    | 'deferredUntil'
    | 'triggers'
    | 'opinions'
  >
> {
  const { derived } = one
  const [looked, predecessor, triggers] = await Promise.all([
    lookedAt(core, agent, one),
    predecessorOf(core, agent, one),
    triggersOf(core, agent, one),
  ])
  return {
    unresolved: [...one.unresolved],
    looked,
    derivedFrom: derived && {
      ...{ proposal: derived.from, how: derived.how },
      ...{ agentLines: derived.agentLines, operatorLines: derived.operatorLines },
    },
    derivedTo: one.derivedTo,
    predecessor,
    comments: one.comments.map((comment) => ({ ...comment })),
    category: one.category,
    expiresAt: one.expiresAt,
    deferredUntil: one.deferredUntil,
    triggers,
    opinions: one.opinions.map(({ seq, model, simulated, text, error, costNanoUsd, at }) => {
      return { seq, model, simulated, text: error === null ? text : `no opinion: ${error}`, costNanoUsd, at }
    }),
  }
}

/** A look holds for the bytes that it was at, on both sides, in whatever proposal they come again. */
async function lookedAt(core: Core, agent: string, one: ProposalRecord): Promise<ProposalDetail['looked']> {
  const { revisions } = core.parts
  const { looks, proposals } = core.ledger.state(agent)
  const paths = one.files.map(({ path }) => path).filter((path) => looks.some((look) => look.path === path))
  if (paths.length === 0) return []
  const [base, revision] = await Promise.all([revisions.hashes(one.base), revisions.hashes(one.revision)])
  const isSameBefore = async (path: string, proposal: string): Promise<boolean> => {
    const then = proposals.find((each) => each.proposal === proposal)?.base ?? one.base
    return then === one.base || (await revisions.hashes(then)).get(path) === base.get(path)
  }
  const found = await Promise.all(
    paths.map(async (path) => {
      const own = looks.filter((look) => look.path === path)
      const now = own.find(({ hash }) => hash === (revision.get(path) ?? null))
      if (now !== undefined && !now.viewed) return []
      const isCurrent = now !== undefined && (await isSameBefore(path, now.proposal))
      return isCurrent || own.some(({ viewed }) => viewed) ? [{ path, isCurrent }] : []
    }),
  )
  return found.flat()
}

async function predecessorOf(core: Core, agent: string, one: ProposalRecord): Promise<ProposalDetail['predecessor']> {
  const before = core.ledger
    .state(agent)
    .proposals.findLast(
      ({ state, madeSeq }) => madeSeq < one.madeSeq && ['rejected', 'returned', 'rolled-back'].includes(state),
    )
  if (before === undefined) return null
  const again = await turnedDown(core, agent, one)
  return {
    ...{ proposal: before.proposal, state: before.state, revision: before.revision, reason: before.reason },
    category: before.category,
    comments: before.comments.map((comment) => ({ ...comment })),
    isSameContent: again.some(({ proposal }) => proposal === before.proposal),
  }
}

async function triggersOf(core: Core, agent: string, one: ProposalRecord): Promise<ProposalDetail['triggers']> {
  const named = one.evidence.slice(0, triggersShown)
  const events = await Promise.all(named.map((seq) => core.parts.history.get({ agent }, seq)))
  return events.flatMap((event) => (event === null ? [] : [{ seq: event.seq, kind: event.kind, text: lineOf(event) }]))
}

/** The event in one plain line: its own words where it has some, else its figures. */
function lineOf(event: Event): string {
  const { data } = event
  const value = (name: string) => (data as Record<string, unknown>)[name]
  const words = ['name', 'outcome', 'status', 'what', 'arguments', 'output', 'text', 'reason', 'error', 'summary']
    .map(value)
    .filter((one) => typeof one === 'string' && one !== '')
  const figures = Object.entries(data)
    .filter(([, one]) => typeof one === 'number' || typeof one === 'boolean')
    .map(([name, one]) => `${name} ${one}`)
  const line = (words.length > 0 ? words : figures).join(' · ').replace(/\s+/g, ' ').trim()
  return line.length > triggerCharacters ? `${line.slice(0, triggerCharacters)}…` : line
}
