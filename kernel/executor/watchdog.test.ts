import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { InboundCall } from './channel.ts'
import { watchProgress } from './watchdog.ts'

const timings = { progressMs: 60_000, callMs: 600_000, callCapMs: 3_600_000 }
let calls: InboundCall[]
let hungAt: number | null
let passed: number

beforeEach(() => {
  vi.useFakeTimers()
  calls = []
  hungAt = null
  passed = 0
  watchProgress({ calls: () => calls }, timings, () => {
    hungAt = passed
  })
})
afterEach(() => vi.useRealTimers())

const call = (declaredMs: number | null) => ({ declaredMs }) as InboundCall

function pass(ms: number): void {
  for (const until = passed + ms; passed < until; passed += 1000) vi.advanceTimersByTime(1000)
}

describe('the progress watchdog', () => {
  it('[C20] lets a call run for the time that it declared, and not for ever', () => {
    calls = [call(1_200_000)]
    pass(1_200_000)
    expect(hungAt).toBeNull()
    pass(130_000)
    expect(hungAt).not.toBeNull()
  })

  it('[C20] caps what a call may declare', () => {
    calls = [call(86_400_000)]
    pass(3_600_000)
    expect(hungAt).toBeNull()
    pass(130_000)
    expect(hungAt).not.toBeNull()
  })

  it('gives a call that declares nothing a time of its own', () => {
    calls = [call(null)]
    pass(600_000)
    expect(hungAt).toBeNull()
    pass(130_000)
    expect(hungAt).not.toBeNull()
  })

  it('counts calls one by one: many short ones are progress', () => {
    for (let n = 0; n < 100; n += 1) {
      calls = [call(10_000)]
      pass(30_000)
    }
    expect(hungAt).toBeNull()
    calls = []
    pass(62_000)
    expect(hungAt).not.toBeNull()
  })
})
