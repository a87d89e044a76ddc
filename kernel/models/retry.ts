import { setTimeout as sleep } from 'node:timers/promises'
import type { UpstreamError } from './upstream-error.ts'

const longestWaitMs = 20_000
const shortestWaitMs = 500

const retryableStatus = (status: number) => status === 408 || status === 429 || status >= 500
/** Said inside a stream, where there is no status any more. */
const retryableCodes = new Set(['server_error', 'rate_limit_exceeded', 'overloaded', 'slow_down'])
/** 429 that no waiting cures. */
const finalCodes = new Set(['insufficient_quota', 'billing_not_active', 'billing_hard_limit_reached'])

/** True where the same request may succeed a moment later. */
export function isTransient(error: UpstreamError): boolean {
  if (error.code !== null && finalCodes.has(error.code)) return false
  if (error.httpStatus !== null) return retryableStatus(error.httpStatus)
  // Some say the status there as a number.
  if (error.code !== null && /^\d{3}$/.test(error.code)) return retryableStatus(Number(error.code))
  return error.code === null || retryableCodes.has(error.code)
}

/**
 * Milliseconds before the next attempt: what Retry-After asks for (seconds or a date), else a doubling back-off with
 * jitter; never more than 20 s, whatever the server says.
 *
 * @param failed attempts so far, 1 or more. @param now epoch ms. @param jitter in [0, 1).
 */
export function waitMs(failed: number, retryAfter: string | null, now: number, jitter: number): number {
  const asked = parseRetryAfter(retryAfter, now)
  const wanted = asked ?? shortestWaitMs * 2 ** (failed - 1) * (0.75 + jitter / 2)
  return Math.min(Math.max(wanted, 0), longestWaitMs)
}

function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  // `Date.parse` would read "-5" as a year.
  if (!/[A-Za-z]/.test(value)) return null
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(date - now, 0)
}

/** Waits, or returns at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
