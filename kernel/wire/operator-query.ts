import { type EventKind, eventKinds } from './events.ts'

/**
 * The query language of History: `tool:shell rev:r4 cost>0.05 kind:proposal status:error "timeout"`. Terms stand beside
 * each other and all of them hold; `kind:` may be given several times, of which one holds. Read by kernel and desk alike.
 */
export interface Query {
  /** What the events' text has; null: any. */
  text: string | null
  kinds: EventKind[]
  task: string | null
  agent: string | null
  tool: string | null
  actor: 'operator' | 'executor' | 'kernel' | null
  /** `r4`, or the first digits of a revision's hash. */
  revision: { activation: number } | { prefix: string } | null
  /** Of model calls, nano-dollars, inclusive. */
  minCost: number | null
  maxCost: number | null
  failed: boolean
  turn: number | null
  step: number | null
  /** Exclusive. */
  after: number | null
  before: number | null
  label: string | null
  noted: boolean
}

export interface QueryProblem {
  /** Of the characters that it is about. */
  at: number
  length: number
  message: string
}

/** One term, with its place in the text. */
export interface QueryTerm {
  at: number
  length: number
  text: string
}

export interface ParsedQuery {
  query: Query
  problems: QueryProblem[]
  terms: QueryTerm[]
}

export const queryFields = [
  'kind',
  'task',
  'agent',
  'tool',
  'rev',
  'cost',
  'status',
  'actor',
  'turn',
  'step',
  'seq',
  'label',
  'is',
] as const
type Field = (typeof queryFields)[number]

const longestText = 500
const nanoPerUsd = 1_000_000_000

export function emptyQuery(): Query {
  return {
    ...{ text: null, kinds: [], task: null, agent: null, tool: null, actor: null, revision: null },
    ...{ minCost: null, maxCost: null, failed: false, turn: null, step: null, after: null, before: null },
    ...{ label: null, noted: false },
  }
}

/** Never throws: what cannot be understood is a problem with its place, and everything else is still read. */
export function parseQuery(text: string): ParsedQuery {
  const query = emptyQuery()
  const problems: QueryProblem[] = []
  const terms: QueryTerm[] = []
  const seen = new Set<string>()
  const words: QueryTerm[] = []
  for (const token of tokensOf(text)) {
    const problem = (message: string) => void problems.push({ at: token.at, length: token.length, message })
    if (token.isOpen) problem('this quotation mark has no end')
    if (token.field === null) {
      words.push({ at: token.at, length: token.length, text: token.value })
      if (token.isQuoted) terms.push({ at: token.at, length: token.length, text: token.text })
      continue
    }
    terms.push({ at: token.at, length: token.length, text: token.text })
    const field = queryFields.find((name) => name === token.field)
    if (field === undefined) {
      problem(
        `there is no field ${token.field}: ${queryFields.join(', ')}. Text with a colon goes into quotation marks`,
      )
      continue
    }
    if (token.value === '') {
      problem(`${token.field}${token.operator} has no value: ${examples[field]}, say`)
      continue
    }
    const key = field === 'cost' || field === 'seq' ? `${field}${token.operator[0]}` : field
    if (field !== 'kind' && seen.has(key)) problem(`${key} stands here twice: one value at a time`)
    seen.add(key)
    if (token.operator !== ':' && field !== 'cost' && field !== 'seq') {
      problem(`${field} is compared with a colon: ${examples[field]}`)
      continue
    }
    const why = readers[field](query, token.value, token.operator)
    if (why !== null) problem(why)
  }
  const [first] = words
  if (first !== undefined) {
    query.text = words.map(({ text }) => text).join(' ')
    if (!terms.some(({ at }) => at === first.at)) {
      const end = (words.at(-1)?.at ?? 0) + (words.at(-1)?.length ?? 0)
      terms.push({ at: first.at, length: end - first.at, text: query.text })
    }
    if (query.text.length > longestText)
      problems.push({ at: first.at, length: query.text.length, message: `text has at most ${longestText} characters` })
  }
  if (query.step !== null && query.turn === null && !problems.length)
    problems.push({ at: 0, length: text.length, message: 'step: needs turn: as well' })
  if (query.turn !== null && query.task === null && !problems.length)
    problems.push({ at: 0, length: text.length, message: 'turn: needs task: as well, since each task counts its own' })
  return { query, problems, terms }
}

/** The text without one of its terms. */
export function withoutTerm(text: string, { at, length }: QueryTerm): string {
  return `${text.slice(0, at)} ${text.slice(at + length)}`.replaceAll(/ +/g, ' ').trim()
}

/** The text with one term more, or less where it has it. */
export function toggledTerm(text: string, term: string): string {
  const found = parseQuery(text).terms.find((each) => each.text === term)
  return found === undefined ? `${text.trim()} ${term}`.trim() : withoutTerm(text, found)
}

/** As a value of a field is written. */
export function quotedValue(value: string): string {
  return /^[^\s"\\]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, (char) => `\\${char}`)}"`
}

const examples: Record<Field, string> = {
  kind: 'kind:tool.finished or kind:proposal',
  task: 'task:T-1',
  agent: 'agent:scout',
  tool: 'tool:shell',
  rev: 'rev:r4 or rev:3f9c21ab',
  cost: 'cost>0.05',
  status: 'status:error',
  actor: 'actor:operator',
  turn: 'turn:3',
  step: 'step:12',
  seq: 'seq>1000',
  label: 'label:odd',
  is: 'is:noted',
}

/** Each puts a value into the query, or says what is wrong with it. */
const readers: Record<Field, (query: Query, value: string, operator: string) => string | null> = {
  kind(query, value) {
    const area = value.replace(/\.?\*?$/, '')
    const kinds = eventKinds.filter((kind) => kind === value || kind.startsWith(`${area}.`))
    if (kinds.length === 0) {
      const near = eventKinds.filter((kind) => kind.startsWith(area.slice(0, 3))).slice(0, 5)
      return `there is no kind ${value}${near.length === 0 ? `: ${examples.kind}, say` : `; near it are ${near.join(', ')}`}`
    }
    query.kinds.push(...kinds.filter((kind) => !query.kinds.includes(kind)))
    return null
  },
  task(query, value) {
    if (!/^T-\d+$/.test(value)) return `a task is written T-1, not ${value}`
    query.task = value
    return null
  },
  agent(query, value) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) return `${value} is no name of an agent`
    query.agent = value
    return null
  },
  tool(query, value) {
    query.tool = value
    return null
  },
  rev(query, value) {
    const activation = /^r(\d{1,9})$/.exec(value)?.[1]
    if (activation !== undefined) query.revision = { activation: Number(activation) }
    else if (/^[0-9a-f]{4,64}$/.test(value)) query.revision = { prefix: value }
    else return `a revision is written r4, or by the first four or more digits of its hash, not ${value}`
    return null
  },
  cost(query, value, operator) {
    const amount = /^\$?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})$/.exec(value)?.[1]
    if (amount === undefined) return `a cost is an amount in dollars with a point, such as 0.05, not ${value}`
    const nano = Math.round(Number(amount) * nanoPerUsd)
    if (operator === '>') query.minCost = nano + 1
    else if (operator === '>=') query.minCost = nano
    else if (operator === '<') query.maxCost = nano - 1
    else if (operator === '<=') query.maxCost = nano
    else return 'cost is compared with >, >=, < or <=: cost>0.05'
    return null
  },
  status(query, value) {
    if (value !== 'error') return 'status has one value: status:error, for whatever failed'
    query.failed = true
    return null
  },
  actor(query, value) {
    if (value !== 'operator' && value !== 'executor' && value !== 'kernel')
      return `an actor is operator, executor or kernel, not ${value}`
    query.actor = value
    return null
  },
  turn: (query, value) => wholeNumber(value, 'turn', (number) => (query.turn = number)),
  step: (query, value) => wholeNumber(value, 'step', (number) => (query.step = number)),
  seq: (query, value, operator) =>
    wholeNumber(value, 'event number', (number) => {
      if (operator === ':' || operator === '>') query.after = operator === ':' ? number - 1 : number
      if (operator === '>=') query.after = number - 1
      if (operator === ':' || operator === '<=') query.before = number + 1
      if (operator === '<') query.before = number
    }),
  label(query, value) {
    query.label = value
    return null
  },
  is(query, value) {
    if (value !== 'noted') return 'is has one value: is:noted, for events with a note or a label of yours'
    query.noted = true
    return null
  },
}

function wholeNumber(value: string, what: string, take: (number: number) => void): string | null {
  if (!/^\d{1,15}$/.test(value)) return `a ${what} is a whole number, not ${value}`
  take(Number(value))
  return null
}

interface Token {
  at: number
  length: number
  /** As it was written. */
  text: string
  /** null: it is a word, or quoted text. */
  field: string | null
  operator: string
  value: string
  isQuoted: boolean
  isOpen: boolean
}

function tokensOf(text: string): Token[] {
  const form = /(?:([a-z]+)(:|>=|<=|>|<))?("(?:[^"\\]|\\.)*("|$)|[^\s"]\S*)?/gy
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    if (/\s/.test(text[at] ?? '')) {
      at += 1
      continue
    }
    form.lastIndex = at
    const match = form.exec(text)
    const whole = match?.[0] ?? ''
    if (match === null || whole === '') {
      at += 1
      continue
    }
    const [, field = null, operator = '', given = '', end] = match
    const isQuoted = given.startsWith('"')
    const value = isQuoted
      ? given.slice(1, end === '"' && given.length > 1 ? -1 : undefined).replaceAll(/\\(.)/g, '$1')
      : given
    const isOpen = isQuoted && (given.length < 2 || end !== '"')
    tokens.push({ at, length: whole.length, text: whole, field, operator, value, isQuoted, isOpen })
    at += whole.length
  }
  return tokens
}
