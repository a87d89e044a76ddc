import { sendableCallId, sendableName } from './allowlist.ts'
import { type Delta, failureIn, nanoUsdOf, type PartialAnswer } from './answer.ts'
import { type Fields, isFields } from './fields.ts'
import { doneMark, type UpstreamEvent } from './upstream.ts'
import { reportOfChat } from './usage.ts'

/** More calls in one answer are a provider's nonsense. */
const mostCalls = 500

interface Call {
  /** Its id as the server gave it; empty: none. */
  said: string
  id: string
  kind: 'function' | 'custom'
  name: string
  input: string
}

/** Why an answer that came to its end is not whole. */
const cutReasons = new Set(['length', 'max_tokens', 'content_filter', 'abort'])
/** The names under which servers stream what a model thinks; kept under the one that was used. */
const thoughts = ['reasoning_content', 'reasoning'] as const

/**
 * An answer of Chat Completions, put together from its chunks. Its end mark is a finish reason and then `[DONE]`; with a
 * finish reason alone it is all there, but not known to be.
 */
export function createChatAnswer(): PartialAnswer {
  const calls = new Map<number, Call>()
  /** The place of a call by the index that its server gives it: some give one index to several calls. */
  const places = new Map<number, number>()
  let head: Fields = {}
  let content = ''
  let refusal = ''
  let thought: { name: (typeof thoughts)[number]; text: string } | null = null
  let reason: string | null = null
  let usage: unknown
  let timings: unknown
  let error: unknown = null
  let end: PartialAnswer['end'] = null
  let hasGrown = false

  function take(event: UpstreamEvent): Delta[] {
    if (end !== null) return []
    if (event === doneMark) {
      if (reason !== null) end = cutReasons.has(reason) ? 'incomplete' : 'completed'
      return []
    }
    if (head.id === undefined) head = event
    // Every chunk may have it; the last that has one covers all.
    if (isFields(event.usage)) usage = event.usage
    if (isFields(event.timings)) timings = event.timings
    const choice = choiceOf(event)
    if (event.error !== undefined && event.error !== null) return fail(event.error)
    if (choice === null) return []
    if (choice.finish_reason === 'error') return fail(choice.error ?? null)
    const deltas = isFields(choice.delta) ? grow(choice.delta) : []
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') reason = choice.finish_reason
    if (deltas.length > 0) hasGrown = true
    return deltas
  }

  function fail(said: unknown): [] {
    end = 'failed'
    error = said
    return []
  }

  function grow(delta: Fields): Delta[] {
    const deltas: Delta[] = []
    const add = (type: Delta['type'], text: unknown): string => {
      if (typeof text !== 'string' || text === '') return ''
      deltas.push({ type, text })
      return text
    }
    const name = thoughts.find((candidate) => typeof delta[candidate] === 'string')
    if (name !== undefined) {
      const text = add('reasoning', delta[name])
      if (text !== '') thought = { name: thought?.name ?? name, text: (thought?.text ?? '') + text }
    }
    content += add('text', delta.content)
    refusal += add('text', delta.refusal)
    if (Array.isArray(delta.tool_calls)) {
      for (const [position, piece] of delta.tool_calls.entries()) {
        if (!isFields(piece)) continue
        const call = callAt(piece, position)
        if (call !== null) call.input += add('arguments', inputOf(piece))
      }
    }
    return deltas
  }

  /** The call that a piece belongs to, made where it is the first of it. */
  function callAt(piece: Fields, position: number): Call | null {
    const index = typeof piece.index === 'number' ? piece.index : position
    const said = typeof piece.id === 'string' ? piece.id : ''
    const { name } = partOf(piece)
    const found = calls.get(places.get(index) ?? -1)
    const isAnother =
      found !== undefined && said !== '' && found.said !== said && typeof name === 'string' && name !== ''
    if (found !== undefined && !isAnother) {
      if (found.name === '' && typeof name === 'string') found.name = name
      return found
    }
    if (calls.size >= mostCalls) return null
    const call: Call = {
      said,
      // Without one that may be sent back the call could not be answered.
      id: sendableCallId(said),
      kind: isFields(piece.custom) ? 'custom' : 'function',
      name: typeof name === 'string' ? name : '',
      input: '',
    }
    places.set(index, calls.size)
    calls.set(calls.size, call)
    hasGrown = true
    return call
  }

  /** A call that was cut off is none. */
  function wholeCalls(): Call[] {
    const all = [...calls.values()]
    return reason !== null && cutReasons.has(reason)
      ? all.filter((call) => (call.kind === 'custom' ? call !== all.at(-1) : isJson(call.input)))
      : all
  }

  return {
    take,
    get end() {
      return end
    },
    get hasGrown() {
      return hasGrown
    },
    response() {
      if (reason === null || end === 'failed') return null
      const whole = wholeCalls()
      const message = {
        role: 'assistant',
        content: content === '' && (whole.length > 0 || refusal !== '') ? null : content,
        ...(refusal === '' ? {} : { refusal }),
        ...(thought === null ? {} : { [thought.name]: thought.text }),
        ...(whole.length === 0 ? {} : { tool_calls: whole.map(messageCall) }),
      }
      const { id = null, created = null, model = null } = head
      const choices = [{ index: 0, message, finish_reason: reason }]
      return { id, object: 'chat.completion', created, model, choices, ...(usage === undefined ? {} : { usage }) }
    },
    failure: () => failureIn(error),
    // A report that comes before the end covers a part.
    report: () => (reason === null ? null : reportOfChat(usage, timings)),
    reportedNanoUsd: () => (reason === null ? null : nanoUsdOf(usage)),
    emittedTokens: (counter) =>
      [
        thought?.text ?? '',
        content,
        refusal,
        ...[...calls.values()].flatMap(({ name, input }) => [name, input]),
      ].reduce((sum, text) => sum + counter.count(text), 0),
  }
}

function choiceOf(event: Fields): Fields | null {
  if (!Array.isArray(event.choices)) return null
  const choice: unknown = event.choices.find((candidate) => isFields(candidate) && (candidate.index ?? 0) === 0)
  return isFields(choice) ? choice : null
}

function partOf(piece: Fields): Fields {
  const part = piece.function ?? piece.custom
  return isFields(part) ? part : {}
}

/** Arguments are a text; some servers send the object itself. */
function inputOf(piece: Fields): unknown {
  const { arguments: given, input } = partOf(piece)
  return isFields(given) ? JSON.stringify(given) : (given ?? input)
}

function messageCall({ id, kind, name: said, input }: Call): Fields {
  const name = sendableName(said)
  return kind === 'custom'
    ? { id, type: 'custom', custom: { name, input } }
    : { id, type: 'function', function: { name, arguments: input } }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
