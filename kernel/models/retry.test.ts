import { describe, expect, it } from 'vitest'
import { isTransient, waitMs } from './retry.ts'
import { UpstreamError } from './upstream-error.ts'

const now = Date.parse('2026-11-29T12:00:00Z')

describe('the wait before another attempt', () => {
  it.each([
    ['1', 1000],
    ['0', 0],
    ['86400', 20_000],
    ['Sun, 29 Nov 2026 12:00:05 GMT', 5000],
    ['Wed, 21 Oct 2065 07:28:00 GMT', 20_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ])('[F17] follows Retry-After: %s up to 20 s', (retryAfter, ms) => {
    expect(waitMs(1, retryAfter, now, 0.5)).toBe(ms)
  })

  it.each([null, 'garbage', '-5', '', '1e999', 'NaN'])(
    '[F17] backs off by itself for Retry-After: %s',
    (retryAfter) => {
      expect([1, 2, 3].map((failed) => waitMs(failed, retryAfter, now, 0.5))).toEqual([500, 1000, 2000])
    },
  )
})

describe('another attempt', () => {
  const error = (httpStatus: number | null, code: string | null = null) =>
    new UpstreamError('x', { httpStatus, code, isUnanswered: true })

  it.each([408, 429, 500, 502, 503, 529])('is worth making after %i', (status) => {
    expect(isTransient(error(status))).toBe(true)
  })
  it.each([200, 307, 400, 401, 403, 404, 413, 422])('is not after %i', (status) => {
    expect(isTransient(error(status))).toBe(false)
  })
  it('is not where the account is empty, nor after a deadline', () => {
    expect(isTransient(error(429, 'insufficient_quota'))).toBe(false)
    expect(isTransient(error(null, 'deadline'))).toBe(false)
    expect(isTransient(error(null, 'server_error'))).toBe(true)
    expect([isTransient(error(null, '502')), isTransient(error(null, '400'))]).toEqual([true, false])
  })
})
