import { createHash } from 'node:crypto'
import type { TreeFile } from '../sandbox/sandbox.ts'
import type { Candidate } from './checks/check.ts'
import type { Core } from './core.ts'
import { type ProposalRecord, proposalOf } from './state.ts'

const turnedDownStates: readonly string[] = ['rejected', 'returned', 'rolled-back']
/** Of each agent, the latest: each is compared file by file. */
const comparedAtMost = 50
const keysKept = 1000
/** By revisions, which do not change. */
const keys = new Map<string, string | null>()

/** Earlier proposals of the same content, or of the same change but for layout and comments, that were turned down. */
export async function turnedDown(
  core: Core,
  agent: string,
  { proposal, revision, base }: Pick<ProposalRecord, 'proposal' | 'revision' | 'base'>,
): Promise<Candidate['recurrences']> {
  const earlier = core.ledger
    .state(agent)
    .proposals.filter((one) => one.proposal !== proposal && turnedDownStates.includes(one.state))
    .slice(-comparedAtMost)
  if (earlier.length === 0) return []
  const own = await changeKey(core, base, revision)
  const found = await Promise.all(
    earlier.map(async (one) => {
      const isSame = one.revision === revision
      const isAlike = !isSame && own !== null && (await changeKey(core, one.base, one.revision)) === own
      return isSame || isAlike ? [{ proposal: one.proposal, state: one.state, reason: one.reason, isSame }] : []
    }),
  )
  return found.flat()
}

const decidedOrWaiting: readonly string[] = [
  ...['checking', 'ready', 'approved', 'activating', 'probation', 'active'],
  ...['rejected', 'returned', 'rolled-back'],
]

/** What the operator has made of exactly this content before, where that has been or will be decided; null: nothing. */
export function decidedBefore(core: Core, agent: string, revision: string): string | null {
  const state = core.ledger.state(agent)
  for (const one of state.proposals.toReversed()) {
    if (one.revision !== revision || one.derivedTo === null) continue
    let made = proposalOf(state, one.derivedTo)
    while (made?.derivedTo) made = proposalOf(state, made.derivedTo)
    if (made === undefined || !decidedOrWaiting.includes(made.state)) continue
    const fallen = one.derivedTo === made.proposal ? (made.derived?.fallen ?? []) : []
    const reasons = [made.why, ...fallen.map(({ path, reason }) => (reason === '' ? '' : `${path}: ${reason}`))]
    const said = [...new Set(reasons)].filter((text) => text !== '' && text !== one.why).join('; ')
    return `a duplicate of ${one.proposal}, out of which the operator made ${made.proposal} (${made.state})${said === '' ? '' : `: ${said}`}`
  }
  return null
}

/** The same for two changes that differ in layout and comments alone; null: nothing else changes at all. */
async function changeKey({ parts: { revisions } }: Core, base: string, revision: string): Promise<string | null> {
  const name = `${base} ${revision}`
  const known = keys.get(name)
  if (known !== undefined) return known
  const [before, after] = (await Promise.all([revisions.read(base), revisions.read(revision)])).map(plainTexts)
  const paths = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].sort()
  const changed = paths.flatMap((path) => {
    const [was, is] = [before?.get(path) ?? null, after?.get(path) ?? null]
    return was === is ? [] : [[path, is]]
  })
  const key = changed.length === 0 ? null : createHash('sha256').update(JSON.stringify(changed)).digest('hex')
  keys.set(name, key)
  for (const oldest of keys.keys()) {
    if (keys.size <= keysKept) break
    keys.delete(oldest)
  }
  return key
}

function plainTexts(files: readonly TreeFile[]): Map<string, string> {
  return new Map(files.map(({ path, text }) => [path, path.endsWith('.ts') ? plainSource(text) : plainText(text)]))
}

const plainText = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Without comments and layout; strings and templates stay as they are. Not parsed: sources are anybody's, and parsers native. */
function plainSource(text: string): string {
  const parts = text.match(
    /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?|`(?:\\[\s\S]|[^`\\])*`?|\s+|[\w$]+|[^\w\s$]/g,
  )
  return (parts ?? []).filter((part) => !/^(?:\/\/|\/\*|\s)/.test(part)).join('\n')
}
