// What a search finds: text in any case, from the start of a word on. Words are runs of letters and digits.

/** Of a longer word the index has only the start. */
const longest = 24
const word = /[\p{L}\p{N}\p{M}]+/gu
const isWordChar = /[\p{L}\p{N}\p{M}]/u

/** The text of a payload, in lower case: JSON with its escapes resolved, so that a line's first word is one. */
export function searchable(data: string): string {
  const text = data.includes('\\') ? data.replace(/\\(u[0-9a-fA-F]{4}|.)/g, resolve) : data
  return text.toLowerCase()
}

function resolve(_match: string, code: string): string {
  if (code.length === 5) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  return { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }[code] ?? code
}

/** Its words, each once, as the index has them. */
export function wordsOf(searchableText: string): string {
  const words = new Set<string>()
  for (const [found] of searchableText.matchAll(word)) words.add(found.slice(0, longest))
  return [...words].join(' ')
}

type PlaceOf = 'agent' | 'task' | 'kind' | 'tool' | 'revision' | 'actor' | 'turn' | 'step' | 'cost' | 'failed'

/**
 * Words that no text has: where an event belongs and how it went, so that a common word is looked up within one task, and
 * events are found without any word. Different names may share one: what is found is looked at.
 */
export function placeWord(of: PlaceOf, name: string): string {
  return `§${of}${name.toLowerCase().replace(/[^a-z0-9]/g, '§')}`
}

/** Costs of which one is at most twice another; the largest is the last. */
const costSteps = 50
export const costStep = (nanoUsd: number): number => Math.min(costSteps, Math.floor(Math.log2(Math.max(1, nanoUsd))))

export interface Placed {
  agent: string | null
  task: string | null
  turn: number | null
  step: number | null
  actor: string
  revision: string | null
  kind: string
  tool: string | null
  /** Of a model call, nano-dollars. */
  cost: number | null
  data: string | null
}

/** All place words of an event. */
export function placesOf(event: Placed): string {
  const { agent, task, turn, step, actor, revision, kind, tool, cost, data } = event
  const found = [placeWord('kind', kind), placeWord('actor', actor)]
  if (agent !== null) found.push(placeWord('agent', agent))
  if (task !== null) found.push(placeWord('task', task))
  if (task !== null && turn !== null) found.push(placeWord('turn', `${task}/${turn}`))
  if (task !== null && turn !== null && step !== null) found.push(placeWord('step', `${task}/${turn}/${step}`))
  if (revision !== null) found.push(placeWord('revision', revision.slice(0, 16)))
  if (tool !== null) found.push(placeWord('tool', tool))
  if (kind === 'model.called' && cost !== null) found.push(placeWord('cost', `${costStep(cost)}`))
  if (hasFailed(kind, data)) found.push(placeWord('failed', ''))
  return found.join(' ')
}

const alwaysFailures: readonly string[] = [
  'executor.crashed',
  'executor.hung',
  'executor.escalated',
  'revision.activation-failed',
  'revision.regressed',
  'budget.reached',
]
const failures: Readonly<Record<string, readonly [field: string, ...values: string[]]>> = {
  'tool.finished': ['outcome', 'error', 'interrupted'],
  'turn.ended': ['outcome', 'failed'],
  'task.finished': ['outcome', 'failed'],
  'model.called': ['status', 'failed', 'aborted'],
  'model.attempted': ['status', 'failed', 'aborted'],
  'proposal.checked': ['verdict', 'fail'],
  'notice.raised': ['severity', 'error'],
}

/** Whether an event says that something went wrong; of a removed payload that is not known. */
export function hasFailed(kind: string, data: string | null): boolean {
  if (alwaysFailures.includes(kind)) return true
  const failure = failures[kind]
  if (failure === undefined || data === null) return false
  const [field, ...values] = failure
  return values.includes(String((JSON.parse(data) as Record<string, unknown>)[field]))
}

/** Whether `data` has the text, from the start of a word on. `folded`: in lower case. */
export function matches(data: string, folded: string): boolean {
  const text = searchable(data)
  const isWord = isWordChar.test(folded[0] ?? '')
  for (let at = text.indexOf(folded); at !== -1; at = text.indexOf(folded, at + 1)) {
    if (!isWord || !isWordChar.test(text.slice(0, at).at(-1) ?? '')) return true
  }
  return false
}

/** An FTS5 expression that every match fulfils; null: the text has no word to look up. */
export function expressionOf(folded: string): string | null {
  const found = [...folded.matchAll(word)]
  if (found.length === 0) return null
  return found
    .map(({ 0: text, index }) => {
      // The last word may go on in what is found.
      const isOpen = index + text.length === folded.length && text.length < longest
      return `"${text.slice(0, longest)}"${isOpen ? '*' : ''}`
    })
    .join(' AND ')
}
