import { describe, expect, it } from 'vitest'
import type { Event, EventData, EventKind } from '../../kernel/wire/events.ts'
import { preferencesSchema } from '../../kernel/wire/operator-settings.ts'
import { attend, type NotePreferences } from './attention.ts'
import { noteOf } from './notes.ts'

const hash = 'a'.repeat(64)
const usual = preferencesSchema.parse({})

function event<K extends EventKind>(kind: K, data: EventData<K>, header: Partial<Event<K>> = {}): Event {
  const base = { seq: 1, at: 0, agent: 'scout', task: 'T-1', run: 'task', generation: null, turn: null, step: null }
  return { ...base, actor: 'kernel', revision: null, prevHash: hash, hash, ...header, kind, data } as unknown as Event
}

const readied = event('proposal.readied', { proposal: 'P-1', risk: 'MED', reasons: [] })
const reviewed = (by: 'operator' | 'rule') =>
  event('proposal.reviewed', {
    proposal: 'P-1',
    verdict: 'approved',
    reason: 'reads well',
    by,
    binding: { tree: hash, base: hash, checks: hash, profile: hash } as never,
    viewedMs: null,
  })
const finished = (outcome: 'completed' | 'failed' | 'stopped' | 'budget') =>
  event('task.finished', { outcome, reason: 'the end', progress: null })

/** Feeds events and minutes in order; says what was shown and withdrawn. */
function told(
  steps: readonly (Event | { minutes: number } | { watched: boolean })[],
  preferences: Partial<NotePreferences> = {},
  clock = '2026-11-30T10:00:00',
): string[] {
  const said: string[] = []
  let ms = new Date(clock).getTime()
  let watched = false
  let timers: { at: number; act: () => void }[] = []
  const attention = attend({
    attention: { show: ({ title }) => said.push(title), withdraw: (id) => said.push(`(${id})`) },
    preferences: () => ({ ...usual, ...preferences }),
    isWatched: () => watched,
    now: () => new Date(ms),
    after(delay, act) {
      const timer = { at: ms + delay, act }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
  })
  for (const step of steps) {
    if ('watched' in step) watched = step.watched
    else if ('minutes' in step) {
      const until = ms + step.minutes * 60_000
      for (;;) {
        const [next] = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
        if (next === undefined) break
        timers = timers.filter((timer) => timer !== next)
        ms = next.at
        next.act()
      }
      ms = until
    } else attention.take(step)
  }
  attention.close()
  expect(timers).toEqual([])
  return said
}

const ready = 'P-1 of scout is ready for your verdict'

describe('what the operating system says', () => {
  it('is that a decision waits, once, and once more after half an hour', () => {
    expect(told([readied, { minutes: 29 }])).toEqual([ready])
    expect(told([readied, { minutes: 300 }])).toEqual([ready, ready])
  })

  it('is taken back with the verdict, and never said of what a rule decides at once', () => {
    expect(told([readied, { minutes: 1 }, reviewed('operator'), { minutes: 60 }])).toEqual([
      ready,
      '(decision scout P-1)',
    ])
    expect(told([readied, reviewed('rule'), { minutes: 60 }])).toEqual(['(decision scout P-1)'])
  })

  it('is nothing while somebody looks, and the reminder once nobody does', () => {
    expect(told([{ watched: true }, readied, { minutes: 5 }, finished('failed')])).toEqual([])
    expect(told([{ watched: true }, readied, { minutes: 5 }, { watched: false }, { minutes: 60 }])).toEqual([ready])
  })

  it('is nothing in quiet hours, also over midnight', () => {
    const quiet = { quiet: { from: '22:00', to: '07:00' } }
    const failed = 'T-1 has failed'
    expect(told([finished('failed')], quiet, '2026-11-30T23:30:00')).toEqual([])
    expect(told([finished('failed')], quiet, '2026-11-30T06:59:00')).toEqual([])
    expect(told([finished('failed')], quiet, '2026-11-30T07:00:00')).toEqual([failed])
    expect(told([finished('failed')], { notify: { ...usual.notify, failed: false } })).toEqual([])
  })

  it('is of a budget by that preference alone, and of a failure by its own', () => {
    const reached = event('budget.reached', { budget: 'usd', limit: 2, used: 2 })
    const events = [reached, finished('budget'), finished('failed')]
    const [limit, budget, failed] = ['T-1 has reached a limit', 'T-1 ended at its budget', 'T-1 has failed']
    expect(told(events)).toEqual([limit, budget, failed])
    expect(told(events, { notify: { ...usual.notify, budget: false } })).toEqual([failed])
    expect(told(events, { notify: { ...usual.notify, failed: false } })).toEqual([limit, budget])
  })

  it('is not that a task is finished, unless wanted', () => {
    expect(told([finished('completed')])).toEqual([])
    expect(told([finished('completed')], { notify: { ...usual.notify, finished: true } })).toEqual(['T-1 is finished'])
  })
})

describe('a note', () => {
  it.each<[string, Event, string | null]>([
    ['what the operator paused', event('task.paused', { reason: 'lunch', by: 'operator' }), null],
    ['what the operator stopped', finished('stopped'), null],
    [
      'an arm of a trial',
      event('task.finished', { outcome: 'failed', reason: '', progress: null }, { run: 'trial' }),
      null,
    ],
    ['a model that is down', event('task.paused', { reason: 'x', by: 'kernel', cause: 'endpoint' }), 'T-1 is paused'],
    ['a question', event('task.asked', { question: 'my secret?' }), 'T-1 asks you something'],
  ])('of %s', (_of, of, title) => expect(noteOf(of)?.title ?? null).toBe(title))

  it('carries no word of an agent, and leads to the item', () => {
    const note = noteOf(event('task.asked', { question: 'click https://evil.invalid' }))
    expect(JSON.stringify(note)).not.toContain('evil')
    expect(note?.href).toBe('#/live/T-1')
    expect(noteOf({ ...readied, agent: 'a/b' } as Event)?.href).toBe('#/review/a%2Fb/P-1')
  })
})
