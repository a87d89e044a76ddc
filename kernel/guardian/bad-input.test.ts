import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agent, openTestGuardian, policy, StandInTask, type TestGuardian } from '../testing/guardian.ts'
import type { EventKind } from '../wire/events.ts'

let test: TestGuardian
beforeEach(async () => {
  test = await openTestGuardian()
})
afterEach(() => test.close())

const dataOf = async (kind: EventKind) => (await test.events([kind])).map(({ data }) => data)
const shown = async (proposal: string) => ({
  agent,
  proposal,
  reason: 'as read',
  ...(await test.guardian.view(agent, proposal)),
})
const activeHash = async () => (await test.guardian.active(agent))?.revision ?? ''

describe('a proposal that cannot be', () => {
  it('is told that it is what was turned down before, and why', async () => {
    await test.propose('two')
    await test.reject('P-1', 'too broad')
    const again = await test.guardian.submit(agent, policy('two'), 'why', 'claim')
    expect(again.note).toBe('the same content as P-1, which was rejected (too broad)')
    await test.guardian.settled(agent)
    const [scope] = (await test.guardian.get(agent, 'P-2')).checks
    expect(scope?.summary).toContain('the same content as P-1, which was rejected (too broad)')
    expect((await test.guardian.submit(agent, policy('three'), 'why', 'claim')).note).toBeUndefined()
  })

  it.each([
    ['an empty tree', [], 'main.ts: is missing: the executor is started from it'],
    ['no main.ts', [{ path: 'other.ts', text: '' }], 'main.ts: is missing: the executor is started from it'],
  ])('names what is wrong with %s', async (_name, files, reason) => {
    const { state } = await test.guardian.submit(agent, files, 'why', 'claim')
    expect(state).toBe('failed-checks')
    expect((await test.guardian.get(agent, 'P-1')).reason).toBe(`scope: ${reason}`)
  })

  it('[G8] holds data that nobody can inspect: no approval is possible, whatever a screen says', async () => {
    const random = (length: number, alphabet: string) => {
      let seed = 7
      return Array.from({ length }, () => {
        seed = (seed * 16_807) % 2_147_483_647
        return alphabet[seed % alphabet.length]
      }).join('')
    }
    const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const lines = (text: string) => text.match(/.{1,76}/g)?.join('\n') ?? ''
    const hostile: Record<string, string> = {
      'a 2 MB line': `const a = '${'a'.repeat(2 * 1024 * 1024)}'`,
      'a base64 blob in short lines': `const a = \`\n${lines(random(2000, base64))}\n\``,
      'a hexadecimal blob': `const a = '${random(1200, '0123456789abcdef')}'`,
      escapes: `const a = '${'\\x41\\u0042'.repeat(60)}'`,
      'a list of bytes': `const a = [${Array.from({ length: 400 }, (_, n) => n % 251).join(', ')}]`,
    }
    for (const [name, text] of Object.entries(hostile)) {
      const proposal = await test.propose(name, { 'blob.ts': text })
      expect([name, (await test.guardian.get(agent, proposal)).state]).toEqual([name, 'failed-checks'])
      await expect(test.guardian.view(agent, proposal), name).rejects.toMatchObject({ code: 'conflict' })
    }
    // A few hashes, long names and prose are read by people.
    const fine = `// ${'a long line of plain words '.repeat(30)}\nconst pins = ['${random(64, '0123456789abcdef')}', '${random(64, '0123456789abcdef')}']\nconst aVeryLongNameThatSomebodyChoseForAVariableInThisProgramForReasons = 1\n`
    expect((await test.guardian.get(agent, await test.propose('fine', { 'fine.ts': fine }))).state).toBe('ready')
  })

  it('[G6] hides characters: no view of it opens, and a verdict made up without one is refused', async () => {
    const { binding } = await test.guardian.view(agent, await test.propose('two'))
    const proposal = await test.propose('three', { 'a.ts': `const a = 1 // ${String.fromCodePoint(0x202e)}x\n` })
    expect((await test.guardian.get(agent, proposal)).reason).toContain('U+202E')
    await expect(test.guardian.view(agent, proposal)).rejects.toThrow('P-2 is failed-checks')
    const forged = { agent, proposal, nonce: 'f'.repeat(32), reason: '', binding }
    await expect(test.guardian.approve(forged)).rejects.toMatchObject({ code: 'conflict' })
    expect(await dataOf('revision.authorised')).toHaveLength(1)
  })

  it('[G9] has 20,000 lines: all of the diff is given, or it says where it was cut', async () => {
    const calm = Array.from({ length: 19_999 }, (_, n) => `a${n}`).join('\n')
    const text = `${calm}\nfetch('x')\n`
    const proposal = await test.propose('two', { 'long.ts': text })
    const { files } = await test.guardian.get(agent, proposal)
    expect(files.find(({ path }) => path === 'long.ts')).toMatchObject({ addedLines: 20_000 })
    expect((await test.guardian.file(agent, proposal, 'long.ts')).after).toBe(text)
    const [before, after] = await Promise.all([
      test.revisions.read(await activeHash()),
      test.revisions.read((await test.guardian.get(agent, proposal)).revision),
    ])
    expect(test.revisions.diff(before, after, 1_048_576)).toContain("+fetch('x')")
    const cut = test.revisions.diff(before, after, 10_000)
    expect(cut).not.toContain('fetch')
    expect(cut.trimEnd().split('\n').at(-1)).toMatch(/cut|more/)
  })

  it('comes twice at once: one waits, the other is superseded, and both are kept', async () => {
    const [one, two] = await Promise.all([
      test.guardian.submit(agent, policy('two'), 'why', 'claim'),
      test.guardian.submit(agent, policy('three'), 'why', 'claim'),
    ])
    await test.guardian.settled(agent)
    expect([one.proposal, two.proposal].sort()).toEqual(['P-1', 'P-2'])
    const states = (await test.guardian.list({ agent })).map(({ state }) => state)
    expect(states.sort()).toEqual(['ready', 'superseded'])
  })

  it('comes after the end of its task: it is refused, and nothing of it is kept', async () => {
    const detach = test.guardian.attach(agent, new StandInTask())
    detach()
    const box = new StandInTask().box()
    const origin = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision: await activeHash(), box }
    await expect(test.guardian.propose(origin, { claim: 'c', why: 'w' })).rejects.toThrow(
      'T-1 is not running any more: propose in a task that runs',
    )
    expect(await dataOf('proposal.made')).toEqual([])
  })
})

describe('[C25] a verdict that cannot be', () => {
  it('comes twice: the second decides nothing and says to look again', async () => {
    await test.propose('two')
    const input = await shown('P-1')
    await test.guardian.approve(input)
    await expect(test.guardian.approve(input)).rejects.toThrow(
      /this view has been used.*Nothing was decided: look again/,
    )
    expect(await dataOf('proposal.reviewed')).toHaveLength(1)
  })

  it.each(['approve', 'reject'] as const)(
    'comes from two windows: the first %ss, the second finds it decided',
    async (kind) => {
      await test.propose('two')
      const [first, second] = [await shown('P-1'), await shown('P-1')]
      const both = await Promise.allSettled([test.guardian[kind](first), test.guardian.reject(second)])
      expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
      expect(String((both[1] as PromiseRejectedResult).reason.message)).toMatch(
        /^P-1 is (approved|probation|rejected)\. Nothing/,
      )
      expect(await dataOf('proposal.reviewed')).toHaveLength(1)
    },
  )

  it('comes after the withdrawal', async () => {
    await test.propose('two')
    const input = await shown('P-1')
    await test.guardian.withdraw(agent, 'P-1', 'operator')
    await expect(test.guardian.approve(input)).rejects.toThrow('P-1 is withdrawn. Nothing was decided')
  })

  it('[G1] is for a hash that was never shown', async () => {
    await test.propose('two')
    const input = await shown('P-1')
    const revision = await test.revisions.put(policy('something else'))
    await expect(test.guardian.approve({ ...input, binding: { ...input.binding, revision } })).rejects.toThrow(
      'the verdict is for another revision than the view showed. Nothing was decided: look again',
    )
    expect(await test.guardian.active(agent)).toMatchObject({ activation: 1 })
  })

  it('[G3] was shown under other checks, or another profile of them', async () => {
    await test.propose('two')
    for (const part of ['checks', 'profile', 'base'] as const) {
      const input = await shown('P-1')
      const binding = { ...input.binding, [part]: 'a'.repeat(64) }
      await expect(test.guardian.approve({ ...input, binding })).rejects.toThrow(`another ${part} than the view showed`)
    }
  })

  it('is without its reason: nothing is decided, and the view stays good', async () => {
    await test.propose('two')
    const input = await shown('P-1')
    await expect(test.guardian.reject({ ...input, reason: ' \n' })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('a rejection needs a reason'),
    })
    expect(await test.guardian.reject(input)).toMatchObject({ state: 'rejected' })
  })

  it('comes while an activation is under way', async () => {
    const target = new StandInTask()
    let reach = (): void => {}
    target.boundary = new Promise((resolve) => {
      reach = resolve
    })
    test.guardian.attach(agent, target)
    await test.propose('two')
    const [first, second] = [await shown('P-1'), await shown('P-1')]
    const approved = test.guardian.approve(first)
    await test.guardian.list({})
    await expect(test.guardian.reject(second)).rejects.toThrow(/P-1 is approved\. Nothing was decided/)
    reach()
    expect(await approved).toMatchObject({ state: 'probation' })
  })

  it('comes while the app ends: it is refused, and the proposal still waits at the next start', async () => {
    await test.propose('two')
    const input = await shown('P-1')
    const closing = test.guardian.close()
    await expect(test.guardian.approve(input)).rejects.toMatchObject({ code: 'cancelled' })
    await expect(test.guardian.reject(input)).rejects.toThrow('the app is ending')
    await closing
    await test.restart()
    expect((await test.guardian.get(agent, 'P-1')).state).toBe('ready')
    // A nonce lives in one process: an old view decides nothing.
    await expect(test.guardian.approve(input)).rejects.toThrow(/never opened here/)
  })
})

describe('[G18] an executor', () => {
  it('has no word on its wire by which it could approve, authorise or activate anything', async () => {
    const { requestSchemas } = await import('../wire/executor-schema.ts')
    const methods = Object.keys(requestSchemas)
    expect(methods).toContain('policy.propose')
    expect(methods.filter((method) => /approv|authori|activat|verdict|review|rollback|confirm/i.test(method))).toEqual(
      [],
    )
    const { eventSchemas } = await import('../wire/events.ts')
    const append = requestSchemas['history.append'].safeParse({
      kind: 'proposal.reviewed',
      data: { proposal: 'P-1', verdict: 'approved' },
    })
    expect([Object.hasOwn(eventSchemas, 'proposal.reviewed'), append.success]).toEqual([true, false])
  })

  it('[G22] that asks for the way back proposes the older tree, and waits for a verdict like any other', async () => {
    await test.approve(await test.propose('two'))
    for (let step = 0; step < 3; step += 1) await test.step()
    const again = await test.propose('one')
    expect(await test.guardian.get(agent, again)).toMatchObject({ state: 'ready' })
    expect(await test.guardian.active(agent)).toMatchObject({ activation: 2 })
    await test.approve(again)
    const activations = (await dataOf('revision.activated')) as { activation: number; revision: string }[]
    expect(activations.map(({ activation }) => activation)).toEqual([1, 2, 3])
    expect(activations[2]?.revision).toBe(activations[0]?.revision)
  })
})

describe('a rollback that cannot be', () => {
  it('is to an activation that there is none of, or to a number that none can have', async () => {
    for (const wanted of [7, 0, -1, 1.5, Number.NaN])
      await expect(test.guardian.rollback(agent, wanted, await activeHash(), '')).rejects.toMatchObject({
        code: 'not-found',
        message: expect.stringContaining(`no activation r${wanted}`),
      })
  })

  it('[G22] is to what was never authorised: a rejected proposal has no activation to go back to', async () => {
    await test.propose('two')
    await test.reject('P-1')
    await expect(test.guardian.rollback(agent, 2, await activeHash(), '')).rejects.toMatchObject({ code: 'not-found' })
    await expect(test.guardian.rollbackPreview(agent, 2)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('is to what is active already', async () => {
    await expect(test.guardian.rollback(agent, 1, await activeHash(), '')).rejects.toThrow(
      'r1 has the content that is active now (r1): nothing to roll back',
    )
  })

  it('is to a revision that does not start any more, for want of its wire version, say: what runs goes on', async () => {
    test.guardian.attach(agent, new StandInTask())
    await test.approve(await test.propose('two'))
    for (let step = 0; step < 3; step += 1) await test.step()
    const before = await test.guardian.active(agent)
    // As an executor of another wire version fails: in its handshake.
    const { start } = test.executors
    test.executors.start = async (spec) => {
      const { KernelError } = await import('../errors.ts')
      if (spec.revision === before?.revision) return start.call(test.executors, spec)
      throw new KernelError('unavailable', 'the executor speaks wire version 0, the kernel 1', {
        details: { stage: 'handshake' },
      })
    }
    await expect(test.guardian.rollback(agent, 1, before?.revision ?? '', '')).rejects.toThrow(
      'r1 could not take over (handshake): the executor speaks wire version 0, the kernel 1. What ran goes on',
    )
    expect(await test.guardian.active(agent)).toEqual(before)
  })
})
