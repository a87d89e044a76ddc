import { type Fields, isFields } from './fields.ts'
import type { GatewayCall, TokenCounter } from './models.ts'
import { returnable } from './returnable.ts'
import { doneMark, type UpstreamEvent } from './upstream.ts'
import type { UsageReport } from './usage.ts'

export type Delta = Parameters<NonNullable<GatewayCall['onDelta']>>[0]

/** What has come of one streamed answer so far, whichever API it speaks. Everything in it is a provider's word: nothing is assumed. */
export interface PartialAnswer {
  /** Takes in one event; returns the growth to pass on. */
  take(event: UpstreamEvent): Delta[]
  /** The end mark that came, if one did; nothing after it counts. */
  readonly end: 'completed' | 'incomplete' | 'failed' | null
  /** The answer as the provider gave it; a cut one is put together from the items that were finished; null without any. */
  response(): Record<string, unknown> | null
  /** The provider's words for a failed answer. */
  failure(): { code: string | null; message: string }
  readonly hasGrown: boolean
  /** null where none came that covers the whole answer, or it is no report. */
  report(): UsageReport | null
  /** What the provider says that it charges, nano-dollars; null where it does not say. */
  reportedNanoUsd(): number | null
  emittedTokens(counter: TokenCounter): number
}

/** The words of an error inside a stream: an object with a code and a message, or a text. */
export function failureIn(error: unknown): { code: string | null; message: string } {
  const { code, message } = isFields(error) ? error : { code: null, message: error }
  return {
    code: typeof code === 'string' || typeof code === 'number' ? String(code).slice(0, 100) : null,
    message: typeof message === 'string' && message !== '' ? message.slice(0, 500) : 'the provider gave no reason',
  }
}

/** An answer of the Responses API. Its end mark is the event that brings the whole response. */
export function createResponsesAnswer(reportOf: (usage: unknown) => UsageReport | null): PartialAnswer {
  const finished: unknown[] = []
  let grown = ''
  let begun: Fields | null = null
  let last: Fields | null = null
  let error: unknown = null
  let end: PartialAnswer['end'] = null
  return {
    take(event) {
      if (end !== null || event === doneMark) return []
      switch (event.type) {
        case 'response.created':
          begun = fieldsOf(event.response)
          return []
        case 'response.output_item.done':
          finished.push(event.item)
          return []
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          end = ends[event.type]
          last = fieldsOf(event.response)
          error = last.error
          return []
        case 'error':
          end = 'failed'
          error = isFields(event.error) ? event.error : event
          return []
        default: {
          const type = typeof event.type === 'string' ? grows[event.type] : undefined
          if (type === undefined || typeof event.delta !== 'string') return []
          grown += event.delta
          return [{ type, text: event.delta }]
        }
      }
    },
    get end() {
      return end
    },
    get hasGrown() {
      return grown !== '' || finished.length > 0
    },
    response() {
      if (last !== null && end !== 'failed') {
        // Some servers leave the final object's output empty when they have streamed it.
        const output = Array.isArray(last.output) && last.output.length > 0 ? last.output : finished
        return { ...last, output: returnable(output) }
      }
      if (finished.length === 0) return null
      return { ...begun, status: 'incomplete', incomplete_details: { reason: 'cut off' }, output: returnable(finished) }
    },
    failure: () => failureIn(error),
    report: () => reportOf(last?.usage),
    reportedNanoUsd: () => nanoUsdOf(last?.usage),
    emittedTokens: (counter) => counter.count(grown === '' && finished.length > 0 ? JSON.stringify(finished) : grown),
  }
}

const ends = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
} as const

const grows: Readonly<Record<string, Delta['type'] | undefined>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'text',
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'arguments',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** `cost` in USD, as OpenRouter adds it. With a key of another provider's it is a fee alone, and says nothing of the whole. */
export function nanoUsdOf(usage: unknown): number | null {
  if (!isFields(usage) || usage.is_byok === true) return null
  const { cost } = usage
  return typeof cost === 'number' && cost >= 0 && cost <= 10_000 ? Math.round(cost * 1e9) : null
}
