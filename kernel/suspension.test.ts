import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from './clock.ts'
import { afterAwake } from './executor/ends.ts'
import { type Suspension, watchSuspension } from './suspension.ts'

const hour = 3_600_000
let host: { monotonic: number; uptime: number }
let wall: number
let said: string[]
let suspension: Suspension

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  host = { monotonic: 1000, uptime: 50_000 }
  wall = 1_700_000_000_000
  said = []
  suspension = watchSuspension(
    { now: () => wall, monotonic: () => host.monotonic },
    { suspended: () => void said.push('suspended'), resumed: (ms) => void said.push(`resumed ${ms}`) },
    { monotonic: () => host.monotonic, uptime: () => host.uptime },
  )
})
afterEach(() => {
  suspension.close()
  vi.useRealTimers()
})

/** Time in which everything runs. */
function run(ms: number): void {
  for (let passed = 0; passed < ms; passed += 1000) {
    host.monotonic += 1000
    host.uptime += 1000
    wall += 1000
    vi.advanceTimersByTime(1000)
  }
}

/** As Linux sleeps: neither timers nor the monotonic clock go on. */
function sleep(ms: number): void {
  host.uptime += ms
  wall += ms
}

/** As Ctrl-Z, a paused machine or Windows' clock have it: the monotonic clock goes on, and nothing runs. */
function freeze(ms: number): void {
  host.monotonic += ms
  host.uptime += ms
  wall += ms
}

describe('a host that slept', () => {
  it.each([
    ['with its clock standing still', sleep],
    ['with its clock going on', freeze],
  ])('is noticed %s, and no deadline has come nearer', (_how, gap) => {
    run(10_000)
    let isDue = false
    afterAwake(suspension.clock, 30_000, () => {
      isDue = true
    })
    const before = suspension.clock.monotonic()
    gap(8 * hour)
    run(1000)
    expect(said).toEqual(['suspended', expect.stringMatching(/^resumed 288\d{5}$/)])
    expect(suspension.clock.monotonic() - before).toBeLessThan(3000)
    expect(isDue).toBe(false)
    run(30_000)
    expect(isDue).toBe(true)
  })

  it('is noticed by whoever asks the time first', () => {
    const before = suspension.clock.monotonic()
    freeze(hour)
    expect(suspension.clock.monotonic() - before).toBeLessThan(3000)
    expect(said).toHaveLength(2)
  })

  it('says so before where the host tells, once', () => {
    suspension.suspending()
    suspension.suspending()
    expect(said).toEqual(['suspended'])
    sleep(hour)
    suspension.look()
    expect(said).toEqual(['suspended', `resumed ${hour}`])
    run(60_000)
    suspension.look()
    expect(said).toHaveLength(2)
  })

  it('has not slept when a machine is merely busy', () => {
    for (let n = 0; n < 20; n += 1) {
      freeze(4000)
      vi.advanceTimersByTime(1000)
    }
    expect(said).toEqual([])
  })
})

describe('[F10] [C5] a wall clock that jumps', () => {
  it.each([
    ['ten years on', 10 * 365 * 24 * hour],
    ['a day back', -24 * hour],
  ])('%s is no sleep, and moves no deadline', (_how, jump) => {
    let isDue = false
    afterAwake(suspension.clock, 30_000, () => {
      isDue = true
    })
    run(5000)
    wall += jump
    run(5000)
    expect(said).toEqual([])
    expect(isDue).toBe(false)
    run(20_000)
    expect(isDue).toBe(true)
    expect(suspension.clock.now()).toBe(wall)
  })

  it('and steps every second changes nothing either', () => {
    const before = suspension.clock.monotonic()
    for (let n = 0; n < 100; n += 1) {
      wall += n % 2 === 0 ? hour : -2 * hour
      run(1000)
    }
    expect(said).toEqual([])
    expect(suspension.clock.monotonic() - before).toBe(100_000)
  })
})

describe('this machine', () => {
  it('has an uptime that goes on with its monotonic clock', async () => {
    vi.useRealTimers()
    const heard: string[] = []
    const real = watchSuspension(systemClock, {
      suspended: () => void heard.push('suspended'),
      resumed: () => void heard.push('resumed'),
    })
    const from = real.clock.monotonic()
    await new Promise((resolve) => setTimeout(resolve, 50))
    real.look()
    expect(real.clock.monotonic()).toBeGreaterThan(from)
    expect(heard).toEqual([])
    real.close()
  })
})
