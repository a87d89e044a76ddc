import { describe, expect, it } from 'vitest'
import type { EventData, EventKind } from '../../kernel/wire/events.ts'
import type { EventRow } from '../../kernel/wire/operator.ts'
import { isOver } from './follow-task.ts'
import { Progress } from './progress.ts'
import { dollars, inert, inertLines, table } from './text.ts'

let seq = 0
function event<K extends EventKind>(kind: K, data: EventData<K>, step: number | null = null): EventRow {
  const place = {
    agent: 'a',
    task: 'T-1',
    run: 'task',
    generation: 1,
    turn: 1,
    step,
    actor: 'kernel',
    revision: null,
  } as const
  return { seq: ++seq, at: 0, ...place, kind, data: data as EventRow['data'] }
}

function modelCall(step: number, costNanoUsd: number | null): EventRow {
  const usage = { uncached: 10, cacheRead: 90, cacheWrite: 0, output: 5, reasoning: 0 }
  const data = { usage, costNanoUsd, simulated: true } as unknown as EventData<'model.called'>
  return event('model.called', data, step)
}

describe('progress of a run', () => {
  it('shows the first step, then one in every 25 while no time passes, and one after 2 s', () => {
    let now = 0
    const progress = new Progress('a', () => now)
    const shown: number[] = []
    for (let step = 1; step <= 60; step += 1) if (progress.line(modelCall(step, 1)) !== null) shown.push(step)
    expect(shown).toEqual([1, 26, 51])
    now = 2_000
    expect(progress.line(modelCall(61, 1))).toContain('step 61')
  })

  it('adds up cached share and cost, and says unknown from the first call without a price', () => {
    let now = 0
    const progress = new Progress('a', () => (now += 10_000))
    progress.line(event('task.progressed', { value: 4, goal: 40, unit: 'xp', source: 'measured' }))
    expect(progress.line(modelCall(1, 1_000_000))).toMatch(/4\/40 xp · .*90 % cached · \$0\.0010 \(simulated\)/)
    expect(progress.line(modelCall(2, null))).toContain('cost unknown')
    expect(progress.line(modelCall(3, 1_000_000))).toContain('cost unknown')
  })

  it('tells of a limit with its unit, and whose it is', () => {
    const line = (data: EventData<'budget.reached'>) => new Progress('a', () => 0).line(event('budget.reached', data))
    const usd = { budget: 'usd', limit: 270_000_000, used: 256_709_000 } as const
    expect(line({ ...usd, scope: 'day' })).toBe('T-1 has reached the limit of the day in USD: $0.2567 of $0.2700')
    expect(line(usd)).toBe('T-1 has reached its limit in USD: $0.2567 of $0.2700')
    expect(line({ budget: 'steps', limit: 5, used: 5 })).toBe('T-1 has reached its limit in steps: 5 of 5')
    expect(line({ budget: 'time', limit: 60_000, used: 60_400 })).toBe(
      'T-1 has reached its limit in time: 60 s of 60 s',
    )
  })

  it('tells of a pause once, and until when it lasts where it ends by itself; only another one ends the following', () => {
    const paused = (cause: EventData<'task.paused'>['cause'], reason: string) => {
      const found = event('task.paused', { by: 'kernel', cause, reason } as EventData<'task.paused'>)
      return { line: new Progress('a', () => 0).line(found), isOver: isOver(found) }
    }
    const day = paused('budget', 'of the budget of the day, 300 tokens, 290 tokens are spent')
    expect(day).toEqual({ line: expect.stringMatching(/T-1 is paused: .*\n.*midnight .*budget --day/), isOver: false })
    const agent = paused('budget', 'of the budget of agent a and its forks, 300 tokens, 290 tokens are spent')
    expect(agent).toEqual({ line: expect.stringMatching(/once the budget is raised: .*--agent a /), isOver: false })
    expect(agent.line).not.toContain('midnight')
    expect(paused('endpoint', 'm')).toEqual({ line: expect.stringContaining('answers again'), isOver: false })
    for (const cause of ['model', 'world', 'safe-mode'] as const)
      expect(paused(cause, 'why')).toEqual({ line: 'T-1 is paused: why', isOver: true })
  })

  it('shows words of the agent in quotes and without anything that a terminal acts on', () => {
    const progress = new Progress('a', () => 0)
    const asked = progress.line(event('task.asked', { question: 'ok?\u001b[2J\r\n\u202eapproved' }))
    expect(asked).toContain('asks: "ok?\\u{1b}[2J\\u{d} ⏎ \\u{202e}approved"')
    expect(asked).toContain('exodesk answer T-1 TEXT')
  })

  it('tells of every verdict, activation and rollback, and of checks that do not pass', () => {
    const progress = new Progress('a', () => 0)
    const revision = 'f'.repeat(64)
    const check = { proposal: 'P-1', check: 'types', summary: 'no', details: null, durationMs: 1 }
    expect(progress.line(event('proposal.checked', { ...check, verdict: 'pass' }))).toBeNull()
    expect(progress.line(event('proposal.checked', { ...check, verdict: 'unresolved' }))).toBe(
      'P-1 check types: unresolved: no',
    )
    const activated = {
      activation: 2,
      revision,
      previous: null,
      cause: 'proposal',
      proposal: 'P-1',
      probationSteps: 10,
    } as const
    expect(progress.line(event('revision.activated', activated))).toBe('r2 is active (P-1, revision ffffffffffff)')
    const rolledBack = {
      from: { activation: 2, revision },
      to: { activation: 3, revision },
      cause: 'crash',
      proposal: null,
      reason: 'it fell',
    } as const
    expect(progress.line(event('revision.rolled-back', rolledBack))).toBe('r2 was rolled back (crash): it fell')
  })
})

describe('text for a terminal', () => {
  it('is cut and on one line', () => {
    expect(inert('a\nb\tc', 300)).toBe('a ⏎ b c')
    expect(inert('x'.repeat(400), 10)).toBe(`${'x'.repeat(10)}…`)
  })

  it('[U5] shows what a reader would not see, or a terminal would act on', () => {
    const points = [0x1b, 0x07, 0x9b, 0x202e, 0x200b, 0x2028, 0xfe0f, 0xe0041, 0x3164, 0x2800, 0xa0, 0xd800, 0xe000]
    for (const point of points) expect(inert(`a${String.fromCodePoint(point)}b`)).toBe(`a\\u{${point.toString(16)}}b`)
  })

  it('of a diff is shown whole, tabs and all', () => {
    const line = `+${'\t'.repeat(1500)}evil()`
    expect(inertLines(`${line}\n-b`)).toBe(`+${' '.repeat(3000)}evil()\n-b`)
  })

  it('never shows an unknown cost as nothing, nor a small one as zero', () => {
    expect(dollars(null)).toBe('cost unknown')
    expect(dollars(0)).toBe('$0.00')
    expect(dollars(1_234_567)).toBe('$0.0012')
    expect(dollars(12_345_678_901, true)).toBe('$12.35 (simulated)')
  })

  it('stands in columns', () => {
    expect(
      table(
        ['a', 'b'],
        [
          ['long', 1],
          ['x', 22],
        ],
      ),
    ).toBe('a     b\nlong  1\nx     22')
  })
})
