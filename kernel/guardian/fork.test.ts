import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, type TestGuardian } from '../testing/guardian.ts'
import type { Event } from '../wire/events.ts'

let test: TestGuardian
beforeAll(async () => {
  test = await openTestGuardian({ probationSteps: 0 })
})
afterAll(() => test.close())

const note = (of: string, text: string) =>
  ({ kind: 'note.added', data: { text }, actor: 'executor', agent: of }) as const
const log = async (view: { agent: string | null; asOf?: number }) =>
  (await test.history.read(view, { limit: 1000 })).events.map((event: Event) => JSON.stringify(event))

describe('a fork', () => {
  it('[H9] stands on the parent up to that event, runs what was active then, and leaves the parent as it is', async () => {
    const { guardian, history } = test
    const first = await guardian.active(agent)
    const [at] = await history.append([note(agent, 'before the fork')])
    const asOf = at?.seq ?? 0
    await test.approve(await test.propose('a later policy'))
    await history.append([note(agent, 'after the fork')])
    const later = await guardian.active(agent)
    expect(later?.revision).not.toBe(first?.revision)
    const prefix = await log({ agent, asOf })
    const parent = await log({ agent })

    const forked = await guardian.fork({ agent, seq: asOf }, 'forked')
    expect(forked).toMatchObject({ activation: 1, revision: first?.revision })
    expect(await guardian.active('forked')).toEqual({ revision: first?.revision, activation: 1 })
    const own = await history.append([note('forked', 'its own')])
    const seen = await log({ agent: 'forked' })
    expect(seen.slice(0, prefix.length)).toEqual(prefix)
    expect(seen.join('')).not.toContain('after the fork')
    expect(seen.at(-1)).toBe(JSON.stringify(own[0]))
    expect(await log({ agent })).toEqual(parent)
    // The hash that it names is that of the very event; an authorisation of exactly that revision precedes its start.
    const [event] = await test.events(['agent.forked'])
    expect(event).toMatchObject({ actor: 'operator', data: { parent: { agent, seq: asOf, hash: at?.hash } } })
    const after = (await history.read({ agent: 'forked' }, { after: event?.seq ?? 0 })).events
    expect(after.slice(0, 2).map(({ kind, data }) => [kind, (data as { revision?: string }).revision])).toEqual([
      ['revision.authorised', first?.revision],
      ['revision.activated', first?.revision],
    ])
    expect((await history.search({ agent: 'forked' }, 'before the fork')).events).toHaveLength(1)
    expect((await history.search({ agent: 'forked' }, 'after the fork')).events).toHaveLength(0)

    await test.restart()
    expect(await test.guardian.active('forked')).toEqual({ revision: first?.revision, activation: 1 })
    expect(await test.guardian.active(agent)).toMatchObject({ revision: later?.revision })
  })

  it('[H9] at an event of another agent, at none, of no agent or under a name that is taken is refused, and nothing is added', async () => {
    const { guardian, history } = test
    await guardian.createAgent('stranger', policy('of a stranger'))
    const [foreign] = await history.append([note('stranger', 'theirs')])
    const [mine] = await history.append([note(agent, 'mine')])
    const head = history.head()
    const seq = mine?.seq ?? 0
    const refusals: [{ agent: string; seq: number }, string, string][] = [
      [{ agent, seq: foreign?.seq ?? 0 }, 'x', 'not-found'],
      [{ agent, seq: seq + 1_000 }, 'x', 'not-found'],
      [{ agent: 'nobody', seq }, 'x', 'not-found'],
      [{ agent, seq }, 'stranger', 'conflict'],
      [{ agent, seq }, agent, 'conflict'],
    ]
    for (const [parent, name, code] of refusals)
      await expect(guardian.fork(parent, name)).rejects.toMatchObject({ code })
    // Another's event and none are answered alike.
    const messages = await Promise.all(
      [foreign?.seq ?? 0, seq + 1_000].map((of) =>
        guardian.fork({ agent, seq: of }, 'x').catch((error: Error) => error.message.replace(String(of), 'N')),
      ),
    )
    expect(messages[0]).toBe(messages[1])
    expect(history.head()).toEqual(head)
    expect((await guardian.fork({ agent, seq }, 'x')).activation).toBe(1)
  })
})
