import { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { kindNames } from './event-line.ts'
import { Invalidator, topicsOfKind } from './invalidator.ts'

describe('invalidation', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function counted() {
    const client = new QueryClient()
    const asked: string[] = []
    const invalidate = client.invalidateQueries.bind(client)
    client.invalidateQueries = (filters) => {
      asked.push(String(filters?.queryKey?.[0]))
      return invalidate(filters)
    }
    return { client, asked, invalidator: new Invalidator(client) }
  }

  it('refetches at the first event and at most four times a second after', () => {
    const { asked, invalidator } = counted()
    for (let n = 0; n < 100; n++) {
      invalidator.note([{ kind: 'model.called' }])
      vi.advanceTimersByTime(10)
    }
    expect(asked.filter((topic) => topic === 'series').length).toBeGreaterThanOrEqual(4)
    expect(asked.filter((topic) => topic === 'series').length).toBeLessThanOrEqual(5)
    invalidator.stop()
  })

  it('asks again after a slow refetch, so that the last event is not missed', async () => {
    const { client, asked, invalidator } = counted()
    let finish = () => {}
    const slow = client.fetchQuery({
      queryKey: ['series', 'T-1'],
      queryFn: () => new Promise<number>((resolve) => (finish = () => resolve(1))),
    })
    invalidator.note([{ kind: 'model.called' }])
    vi.advanceTimersByTime(2000)
    expect(asked).not.toContain('series')
    finish()
    await slow
    vi.advanceTimersByTime(500)
    expect(asked.filter((topic) => topic === 'series')).toHaveLength(1)
    invalidator.stop()
  })

  it('knows what a proposal, an activation and a task change', () => {
    expect(topicsOfKind('proposal.readied')).toContain('proposals')
    expect(topicsOfKind('revision.activated')).toEqual(expect.arrayContaining(['revisions', 'series']))
    expect(topicsOfKind('task.finished')).toEqual(expect.arrayContaining(['tasks', 'status']))
    expect(topicsOfKind('tool.quarantined')).toEqual(['tools'])
    // A call in the middle of a turn is no reason to read all tools again: the end of the turn is.
    expect(topicsOfKind('tool.finished')).not.toContain('tools')
    expect(topicsOfKind('turn.ended')).toContain('tools')
    expect(topicsOfKind('artifact.written')).toEqual(['artifacts'])
    expect(topicsOfKind('proposal.reviewed')).toContain('reviewer')
    expect(topicsOfKind('trial.closed')).toEqual(['proposals', 'status'])
    // What is left changes no view: History asks for it by itself, and studies have no screen yet.
    expect(kindNames.filter((kind) => topicsOfKind(kind).length === 0).sort()).toEqual([
      'credential.used',
      'export.written',
      'model.attempted',
      'model.reserved',
      'note.added',
    ])
  })
})
