import type { Clock } from '../clock.ts'
import type { PartialAnswer } from './answer.ts'
import type { GatewayCall } from './models.ts'
import { type Endpoint, streamEvents, type UpstreamLimits } from './upstream.ts'
import { UpstreamError } from './upstream-error.ts'

export interface AttemptLimits extends UpstreamLimits {
  /** Between two events of an answer, or before the first; comments do not count. */
  idleMs: number
}

/** What is sent, and how its answer is read. */
export interface Sending {
  endpoint: Endpoint
  path: string
  body: object
  answer: PartialAnswer
}

/** How one attempt ended. `error` is null exactly when an end mark of success came. */
export interface AttemptEnd {
  status: 'completed' | 'incomplete' | 'failed' | 'aborted'
  error: UpstreamError | null
  /** null: no answer began. */
  httpStatus: number | null
  /** After the start of the attempt; null: nothing came. */
  firstEventMs: number | null
  durationMs: number
}

/** A stream should end with its end mark; the connection of one that does not is given up after this time. */
const afterEndMs = 250

/**
 * One request and its answer. Never throws for what the provider does.
 *
 * @param remainingMs of the whole call; the attempt is cut when they are over.
 * @throws whatever `onDelta` throws.
 */
export async function runAttempt(
  clock: Clock,
  { endpoint, path, body, answer }: Sending,
  call: Pick<GatewayCall, 'signal' | 'onDelta'>,
  limits: AttemptLimits,
  remainingMs: number,
): Promise<AttemptEnd> {
  const startedAt = clock.monotonic()
  const stop = new AbortController()
  const cut = (message: string) => stop.abort(new UpstreamError(message, { code: 'deadline', isUnanswered: false }))
  const onAbort = () => cut('cancelled')
  call.signal.addEventListener('abort', onAbort, { once: true })
  if (call.signal.aborted) onAbort()
  const total = setTimeout(() => cut('the call took longer than it may'), remainingMs)
  let isReaderBusy = false
  const idle = setTimeout(() => {
    if (!isReaderBusy) cut(`nothing came for ${limits.idleMs} ms`)
  }, limits.idleMs)
  let afterEnd: NodeJS.Timeout | undefined
  let firstEventMs: number | null = null
  let error: unknown = null
  try {
    for await (const event of streamEvents(endpoint, path, body, stop.signal, limits)) {
      firstEventMs ??= clock.monotonic() - startedAt
      for (const delta of answer.take(event)) {
        const taken = call.onDelta?.(delta)
        if (taken === undefined) continue
        isReaderBusy = true
        await unlessAborted(taken, stop.signal)
        isReaderBusy = false
      }
      idle.refresh()
      if (answer.end !== null) afterEnd ??= setTimeout(() => cut('the stream stayed open after its end'), afterEndMs)
    }
  } catch (thrown) {
    error = thrown
  } finally {
    for (const timer of [total, idle, afterEnd]) clearTimeout(timer)
    call.signal.removeEventListener('abort', onAbort)
  }
  if (error !== null && !(error instanceof UpstreamError)) throw error
  const httpStatus = error?.httpStatus ?? (firstEventMs === null ? null : 200)
  const facts = { httpStatus, firstEventMs, durationMs: clock.monotonic() - startedAt }
  if (answer.end === 'completed' || answer.end === 'incomplete') return { ...facts, status: answer.end, error: null }
  if (call.signal.aborted)
    return { ...facts, status: 'aborted', error: error ?? new UpstreamError('cancelled', { isUnanswered: false }) }
  if (answer.end === 'failed') {
    const { code, message } = answer.failure()
    return { ...facts, status: 'failed', error: new UpstreamError(message, { code, isUnanswered: false }) }
  }
  const broken = error ?? new UpstreamError('the answer ended without its end mark', { isUnanswered: false })
  return { ...facts, status: answer.hasGrown ? 'incomplete' : 'failed', error: broken }
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
