import type { GatewayCall, TokenCounter } from './models.ts'
import type { UpstreamEvent } from './upstream.ts'

type Delta = Parameters<NonNullable<GatewayCall['onDelta']>>[0]

/** What has come of one streamed answer so far. */
export interface PartialAnswer {
  /** Takes in one event; returns the growth to pass on, if any. */
  take(event: UpstreamEvent): Delta | null
  /** The end mark that came, if one did. */
  readonly end: 'completed' | 'incomplete' | 'failed' | null
  /** The answer as the provider gave it; a cut one is put together from the items that were finished; null without any. */
  response(): Record<string, unknown> | null
  /** The provider's words for a failed answer. */
  failure(): { code: string | null; message: string }
  readonly hasGrown: boolean
  reportedUsage(): unknown
  emittedTokens(counter: TokenCounter): number
}

export function createPartialAnswer(): PartialAnswer {
  const finished: unknown[] = []
  let grown = ''
  let begun: Record<string, unknown> | null = null
  let last: Record<string, unknown> | null = null
  let end: PartialAnswer['end'] = null
  return {
    take(event) {
      switch (event.type) {
        case 'response.created':
          begun = { ...event.response }
          return null
        case 'response.output_item.done':
          finished.push(event.item)
          return null
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          end =
            event.type === 'response.completed'
              ? 'completed'
              : event.type === 'response.incomplete'
                ? 'incomplete'
                : 'failed'
          last = { ...event.response }
          return null
        default: {
          const delta = deltaOf(event)
          if (delta !== null) grown += delta.text
          return delta
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
        return Array.isArray(last.output) && last.output.length > 0 ? last : { ...last, output: finished }
      }
      if (finished.length === 0) return null
      return { ...begun, status: 'incomplete', incomplete_details: { reason: 'cut off' }, output: finished }
    },
    failure() {
      const error = last?.error as { code?: unknown; message?: unknown } | null | undefined
      return {
        code: typeof error?.code === 'string' ? error.code : null,
        message: typeof error?.message === 'string' ? error.message.slice(0, 500) : 'the provider gave no reason',
      }
    },
    reportedUsage: () => last?.usage,
    emittedTokens: (counter) => counter.count(grown === '' && finished.length > 0 ? JSON.stringify(finished) : grown),
  }
}

function deltaOf(event: UpstreamEvent): Delta | null {
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { type: 'text', text: event.delta }
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return { type: 'arguments', text: event.delta }
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return { type: 'reasoning', text: event.delta }
    default:
      return null
  }
}
