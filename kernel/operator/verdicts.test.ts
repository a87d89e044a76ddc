// Verdicts over the operator's router, as a page, a second window or a script gives them that is buggy or means ill.
import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { Binding, EventKind } from '../wire/events.ts'
import { createRouter, type OperatorParts } from './router.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

/** A connection of its own, as each window and each command has one. */
function connect() {
  const { guardian, revisions, history } = test
  const same = (text: string) => text
  const router = createRouter({ guardian, revisions, history, typed: same, hint: same } as unknown as OperatorParts)
  return createRouterClient(router, { context: { via: 'websocket', viewer: {} } })
}
type Desk = ReturnType<typeof connect>
interface Given {
  agent: string
  proposal: string
  nonce: string
  binding: Binding
}

async function shown(desk: Desk, proposal = 'P-1'): Promise<Given> {
  const { nonce, binding } = await desk.proposals.view({ agent, proposal })
  return { agent, proposal, nonce, binding }
}

const verbs: Record<string, (desk: Desk, given: Given) => Promise<unknown>> = {
  approve: (desk, given) => desk.proposals.approve(given),
  reject: (desk, given) => desk.proposals.reject({ ...given, reason: 'no' }),
  return: (desk, given) => desk.proposals.return({ ...given, reason: 'again', comments: [] }),
  defer: (desk, given) => desk.proposals.defer({ ...given, reason: '', until: 4_000_000_000_000 }),
  derive: (desk, given) => desk.proposals.derive({ ...given, reason: '', edits: [{ path: 'b.md', text: 'b\n' }] }),
}
const each = Object.entries(verbs)

/** What any verdict would have left: that there is nothing of it means that nothing was decided. */
async function decided(): Promise<EventKind[]> {
  const kinds = ['proposal.reviewed', 'proposal.superseded', 'revision.authorised', 'revision.activated'] as const
  return (await test.events(kinds)).filter(({ actor }) => actor === 'operator').map(({ kind }) => kind)
}
const refused = (work: Promise<unknown>, code = 'conflict') => expect(work).rejects.toMatchObject({ code })

describe.each(each)('the verdict %s, over the router', (_verb, give) => {
  it('[C25] [G18] counts only with a nonce of its own window, proposal and moment', async () => {
    await test.propose('two')
    const [mine, other] = [connect(), connect()]
    await refused(give(mine, { ...(await shown(mine)), nonce: '' }))
    await refused(give(mine, { ...(await shown(mine)), nonce: 'f'.repeat(32) }))
    await refused(give(mine, { ...(await shown(mine)), nonce: 'x'.repeat(1_000_000) }))
    // Seen in one window, said by another; and by one that took the place of a closed one.
    await refused(give(other, await shown(mine)))
    await refused(give(connect(), await shown(mine)))
    const unknown = { ...(await shown(mine)), proposal: 'P-7' }
    await refused(give(mine, unknown), 'not-found').catch(() => refused(give(mine, unknown)))
    for (const part of ['revision', 'base', 'checks', 'profile'] as const) {
      const given = await shown(mine)
      await refused(give(mine, { ...given, binding: { ...given.binding, [part]: 'a'.repeat(64) } }))
    }
    expect(await decided()).toEqual([])
    const good = await shown(mine)
    await give(mine, good)
    await test.guardian.settled(agent)
    const once = await decided()
    expect(once.length).toBeGreaterThan(0)
    await refused(give(mine, good))
    expect(await decided()).toEqual(once)
  })

  it('[C25] waits for the checks, and falls with a withdrawal', async () => {
    const desk = connect()
    let open = () => {}
    test.executors.gate = new Promise((resolve) => {
      open = resolve
    })
    const { revision } = await test.guardian.submit(agent, policy('two'), 'why', 'claim')
    await refused(shown(desk))
    const { base } = (await test.guardian.get(agent, 'P-1')) as { base: string }
    const made = { revision, base, checks: 'a'.repeat(64), profile: test.guardian.profile().hash }
    await refused(give(desk, { agent, proposal: 'P-1', nonce: 'f'.repeat(32), binding: made }))
    open()
    await test.guardian.settled(agent)
    const given = await shown(desk)
    await desk.proposals.withdraw({ agent, proposal: 'P-1' })
    await refused(give(desk, given))
    expect(await decided()).toEqual([])
  })

  it('[C25] [G1] is nothing while another change of what runs is under way, nor when it is done', async () => {
    const desk = connect()
    await test.propose('two')
    let reach = () => {}
    const target = new StandInTask()
    target.boundary = new Promise((resolve) => {
      reach = resolve
    })
    test.guardian.attach(agent, target)
    const [first, second, third] = [await shown(desk), await shown(desk), await shown(desk)]
    const approving = desk.proposals.approve(first)
    await test.guardian.list({})
    await refused(give(desk, second))
    reach()
    await approving
    await refused(give(desk, third))
    expect((await decided()).filter((kind) => kind === 'proposal.reviewed')).toHaveLength(1)
  })

  it('[C25] is nothing in an app that ends, and the proposal waits at the next start', async () => {
    const desk = connect()
    await test.propose('two')
    const given = await shown(desk)
    const closing = test.guardian.close()
    await refused(give(desk, given), 'cancelled')
    await closing
    await test.restart()
    await refused(give(connect(), given))
    expect((await connect().proposals.get({ agent, proposal: 'P-1' })).state).toBe('ready')
  })

  it.each(each)('[C25] at once with %s from another window: one of them counts', async (_other, give2) => {
    await test.propose('two')
    const [one, two] = [connect(), connect()]
    const [a, b] = [await shown(one), await shown(two)]
    const both = await Promise.allSettled([give(one, a), give2(two, b)])
    await test.guardian.settled(agent)
    // Putting off decides nothing: the other may follow.
    const counted = both.filter(({ status }) => status === 'fulfilled').length
    expect([1, 2].slice(0, give === verbs.defer || give2 === verbs.defer ? 2 : 1)).toContain(counted)
    const ended = (await test.events(['proposal.reviewed'])).filter(
      ({ data }) => (data as { verdict: string }).verdict !== 'deferred',
    )
    const derived = (await test.events(['proposal.superseded'])).length
    expect(ended.length + derived).toBeLessThanOrEqual(1)
  })
})

describe('what is said beside a verdict', () => {
  const blanks = ['', ' ', '\u200b', '\u2063\u00ad\u200d', '\ufeff\n', '…', '\u3164', '\u115f', '\u2800', '\u{e0041}']

  it('is words wherever a reason is asked for: blanks that nobody sees are none', async () => {
    const desk = connect()
    await test.propose('no-box')
    for (const reason of blanks) {
      const codes = await Promise.all(
        [
          desk.proposals.reject({ ...(await shown(desk)), reason }),
          desk.proposals.return({ ...(await shown(desk)), reason, comments: [] }),
          desk.proposals.approve({ ...(await shown(desk)), overrides: [{ check: 'boot', reason }] }),
          desk.profile.set({ version: test.guardian.profile().version, checks: [], reason }),
        ].map((work) =>
          work.then(
            () => 'taken',
            (error: { code: string }) => error.code,
          ),
        ),
      )
      expect([JSON.stringify(reason), codes.filter((code) => !['invalid', 'BAD_REQUEST'].includes(code))]).toEqual([
        JSON.stringify(reason),
        [],
      ])
    }
    expect(await decided()).toEqual([])
  })

  it('is bounded: a comment or a reason of a megabyte, ten thousand comments; the most that fits is kept whole', async () => {
    const desk = connect()
    await test.propose('two', { 'notes.md': 'a\n' })
    const comment = { path: 'notes.md', side: 'after' as const, line: 1, text: 'why?' }
    const long = 'x'.repeat(1_048_576)
    const send = async (reason: string, comments: (typeof comment)[]) =>
      desk.proposals.return({ ...(await shown(desk)), reason, comments })
    await refused(send('again', [{ ...comment, text: long }]), 'BAD_REQUEST')
    await refused(send('again', [{ ...comment, path: long }]), 'BAD_REQUEST')
    await refused(send(long, []), 'BAD_REQUEST')
    await refused(send('again', Array(10_000).fill(comment)), 'BAD_REQUEST')
    await refused(desk.proposals.reject({ ...(await shown(desk)), reason: long }), 'BAD_REQUEST')
    await refused(send('again', [{ ...comment, line: 2 }]), 'invalid')
    await refused(send('again', [{ ...comment, line: 2 ** 53 - 1 }]), 'invalid')
    expect(await decided()).toEqual([])
    await refused(send('again', Array(200).fill({ ...comment, text: '\u20ac'.repeat(4000) })), 'invalid')
    expect(await decided()).toEqual([])
    await send('\u00e4'.repeat(4000), Array(200).fill({ ...comment, text: '\u20ac'.repeat(180) }))
    expect((await desk.proposals.get({ agent, proposal: 'P-1' })).comments).toHaveLength(200)
  })

  it('overrides only what gates and is unresolved, once', async () => {
    const desk = connect()
    test.guardian.attach(agent, new StandInTask())
    await test.propose('no-box')
    const boot = { check: 'boot', reason: 'no box here' }
    const attempt = async (overrides: (typeof boot)[]) => desk.proposals.approve({ ...(await shown(desk)), overrides })
    for (const check of ['scope', 'tape-replay', 'Boot', '__proto__', '', 'x'.repeat(100_000)])
      await refused(attempt([boot, { check, reason: 'why not' }]), 'invalid')
    await refused(attempt([boot, boot]), 'invalid')
    await refused(attempt(Array(51).fill(boot)), 'BAD_REQUEST')
    expect(await decided()).toEqual([])
    expect(await attempt([boot])).toMatchObject({ state: 'probation' })
  })
})

describe('a part', () => {
  const lines = (word: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${n % 2 ? word : 'same'} ${n}\n`).join('')

  const names = Array.from({ length: 12 }, (_, n) => `n${n}.md`)

  it('[G9] is told apart from 100,000 names of changes in no time, and keeps exactly what is named', async () => {
    const files = (word: string) => Object.fromEntries(names.map((name) => [name, lines(word, 100)]))
    await test.propose('two', files('a'))
    await test.approve('P-1')
    for (let step = 0; step < 3; step += 1) await test.step()
    await test.propose('three', files('b'))
    const desk = connect()
    const hunks = await desk.proposals.hunks({ agent, proposal: 'P-2' })
    const ids = hunks.find(({ path }) => path === 'n0.md')?.hunks.map(({ id }) => id) ?? []
    expect(ids.length).toBe(50)
    const part = async (keep: { path: string; hunks: string[] }[]) =>
      desk.proposals.derive({ ...(await shown(desk, 'P-2')), reason: '', keep })
    const invented = Array.from({ length: 100_000 }, (_, n) => n.toString(16).padStart(16, '0'))
    const error = await part([{ path: 'n0.md', hunks: invented }]).catch((thrown: Error) => thrown)
    expect((error as Error).message).toMatch(/^n0\.md has no change 0{16}, 0{15}1, 0{15}2 and 99997 more: look again$/)
    await refused(part([{ path: 'other.md', hunks: [] }]), 'invalid')
    await refused(part([{ path: 'n0.md', hunks: ['__proto__'] }]), 'invalid')
    expect((await desk.proposals.get({ agent, proposal: 'P-2' })).state).toBe('ready')
    // Named fifty thousand times over, and in two pieces: each change is kept once.
    const [one = '', two = ''] = ids
    const { revision } = await part([
      { path: 'n0.md', hunks: [one] },
      { path: 'n0.md', hunks: Array(50_000).fill(two) },
    ])
    const text = (await desk.revisions.files({ revision })).find(({ path }) => path === 'n0.md')?.text ?? ''
    expect(text.split('\n').filter((line) => line.startsWith('b '))).toEqual(['b 1', 'b 3'])
    const [, , event] = await test.events(['proposal.made'])
    // 599 fell: too many to be listed one by one.
    const told = names.map((path, n) => ({ path, lines: `${n === 0 ? 48 : 50} more changes`, reason: '' }))
    const all = [...told, { path: 'main.ts', lines: '1 more change', reason: '' }]
    const inOrder = all.sort((a, b) => (a.path < b.path ? -1 : 1))
    expect(event?.data).toMatchObject({ derived: { fallen: inOrder } })
  }, 60_000)

  it('[G1] names changes of its own diff alone, and is made of the base that was shown', async () => {
    const desk = connect()
    await test.propose('two', { 'a.md': 'one\n' })
    const [, first] = await desk.proposals.hunks({ agent, proposal: 'P-1' })
    await test.propose('three', { 'a.md': 'other\n' })
    const foreign = [{ path: 'a.md', hunks: (first?.hunks ?? []).map(({ id }) => id) }]
    await refused(desk.proposals.derive({ ...(await shown(desk, 'P-2')), reason: '', keep: foreign }), 'invalid')
    // The base moves after the look, and while the part is made.
    const edits = [{ path: 'c.md', text: 'c\n' }]
    const before = await shown(desk, 'P-2')
    const [given, last] = [await shown(desk, 'P-2'), await shown(desk, 'P-2')]
    const [derived, approved] = await Promise.allSettled([
      desk.proposals.derive({ ...given, reason: '', edits }),
      desk.proposals.approve(before),
    ])
    await test.guardian.settled(agent)
    expect([derived.status, approved.status].filter((status) => status === 'fulfilled')).toHaveLength(1)
    await refused(desk.proposals.derive({ ...last, reason: '', edits }))
    const active = await test.events(['revision.activated'])
    expect(active.length).toBe(approved.status === 'fulfilled' ? 2 : 1)
  })
})

describe('[C21] a look', () => {
  it('is at what the proposal holds: no other hash, file or proposal can be said to have been seen', async () => {
    const desk = connect()
    await test.propose('two', { 'a.md': 'a\n' })
    const { revision } = await desk.proposals.get({ agent, proposal: 'P-1' })
    const look = (over: object) =>
      desk.proposals.look({ agent, proposal: 'P-1', revision, path: 'a.md', viewed: true, ...over })
    await refused(look({ revision: 'f'.repeat(64) }))
    await refused(look({ revision: 'shown' }), 'BAD_REQUEST')
    for (const path of ['../a.md', '', 'A.md', '__proto__', 'x'.repeat(100_000)])
      await refused(look({ path }), 'not-found')
    await refused(look({ proposal: 'P-9' }), 'not-found')
    expect(await test.events(['proposal.looked'])).toEqual([])
    // It decides nothing: what was looked at is no verdict.
    await look({})
    expect(await desk.proposals.get({ agent, proposal: 'P-1' })).toMatchObject({
      state: 'ready',
      looked: [{ path: 'a.md' }],
    })
  })
})
