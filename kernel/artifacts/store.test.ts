import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { Artifacts } from './artifacts.ts'
import { createArtifacts } from './store.ts'

let test: TestHistory
let artifacts: Artifacts
beforeAll(async () => {
  test = await openTestHistory()
  artifacts = createArtifacts({ history: test.history })
})
afterAll(() => test.close())

const context = { actor: 'executor', task: 'T-1', turn: 1, step: 2 } as const

describe('artifacts', () => {
  it('[A2] keep every version readable, byte for byte, also after a restart', async () => {
    const one = await artifacts.put('a', 'notes/plan.md', 'one\r\n', context)
    const two = await artifacts.put('a', 'notes/plan.md', 'twø', context)
    expect([one, two]).toMatchObject([
      { name: 'notes/plan.md', version: 1, sizeBytes: 5 },
      { name: 'notes/plan.md', version: 2, sizeBytes: 4 },
    ])
    artifacts = createArtifacts({ history: await test.reopen() })
    expect(await artifacts.get('a', 'notes/plan.md')).toEqual({ ...two, text: 'twø' })
    expect(await artifacts.get('a', 'notes/plan.md', 1)).toEqual({ ...one, text: 'one\r\n' })
    expect(await artifacts.versions('a', 'notes/plan.md')).toEqual([one, two])
    const event = await test.history.latest({ agent: 'a' }, 'artifact.written')
    expect(event).toMatchObject({
      ...context,
      data: { name: 'notes/plan.md', version: 2, hash: two.hash, sizeBytes: 4 },
    })
    expect(await test.history.mayRead('a', two.hash)).toBe(true)
  })

  it('keep the same value as a version of its own', async () => {
    const [one, two] = [await artifacts.put('a', 'same', 'x', context), await artifacts.put('a', 'same', 'x', context)]
    expect([one.version, two.version, one.hash === two.hash]).toEqual([1, 2, true])
  })

  it('are written in turn: no version is lost or doubled when many write at once', async () => {
    const refs = await Promise.all(Array.from({ length: 20 }, (_, n) => artifacts.put('a', 'busy', `v${n}`, context)))
    expect(refs.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect((await artifacts.get('a', 'busy', 7)).text).toBe('v6')
  })

  it('refuse a put that expects another version than the latest, and only that', async () => {
    await expect(artifacts.put('a', 'cas', 'x', context, 1)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/does not exist/),
    })
    await artifacts.put('a', 'cas', 'x', context, 0)
    const race = await Promise.allSettled([1, 1].map((expected) => artifacts.put('a', 'cas', 'y', context, expected)))
    expect(race.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await expect(artifacts.put('a', 'cas', 'z', context, 0)).rejects.toMatchObject({
      code: 'conflict',
      details: { latest: 2 },
    })
    expect(await artifacts.versions('a', 'cas')).toHaveLength(2)
  })

  it.each([
    '',
    '..',
    '../../vault',
    'a/../b',
    '/etc/passwd',
    'a/',
    'a b',
    'a\0b',
    'a\nb',
    'ä',
    'C:\\x',
    'x'.repeat(201),
    'x'.repeat(4096),
  ])('[A1] refuse the name %j', async (name) => {
    await expect(artifacts.put('a', name, 'x', context)).rejects.toMatchObject({ code: 'invalid' })
    await expect(artifacts.get('a', name)).rejects.toMatchObject({ code: 'invalid' })
  })

  it('[A1] take names as they are: case twins and odd names are values of their own and no files', async () => {
    const names = ['Case', 'case', '-rf', '.hidden', 'history.db', 'CON', 'x'.repeat(200), '__proto__', 'constructor']
    for (const name of names) await artifacts.put('odd', name, `value of ${name}`, context)
    for (const name of names) expect((await artifacts.get('odd', name)).text).toBe(`value of ${name}`)
    expect((await artifacts.list('odd')).map(({ name }) => name)).toEqual([...names].sort())
    const files = readdirSync(test.dataDir, { recursive: true }).map(String)
    expect(files.filter((file) => !/^(history(-search)?\.db(-wal|-shm)?|head\.(json|key|last))$/.test(file))).toEqual(
      [],
    )
  })

  it('refuse text that cannot be kept as it is', async () => {
    await expect(artifacts.put('a', 'half', 'x\ud800y', context)).rejects.toMatchObject({ code: 'invalid' })
  })

  it('are listed by prefix, each at its latest version', async () => {
    for (const name of ['skills/b', 'skills/a', 'skill', 'skills_x']) await artifacts.put('list', name, '1', context)
    await artifacts.put('list', 'skills/a', '2', context)
    expect((await artifacts.list('list', 'skills/')).map(({ name, version }) => [name, version])).toEqual([
      ['skills/a', 2],
      ['skills/b', 1],
    ])
    expect(await artifacts.list('list', '%')).toEqual([])
  })

  it('[A7] answer the same for another agent’s as for none', async () => {
    await artifacts.put('owner', 'secret', 'x', context)
    const foreign = await artifacts.get('thief', 'secret').catch((error: Error) => error)
    const none = await artifacts.get('thief', 'nothing').catch((error: Error) => error)
    expect(foreign).toMatchObject({ code: 'not-found', message: 'no artifact secret' })
    expect(none).toMatchObject({ code: 'not-found', message: 'no artifact nothing' })
    expect(await artifacts.list('thief')).toEqual([])
  })

  it('go on in a fork from where the parent’s were, without touching them', async () => {
    await artifacts.put('parent', 'memory', 'old', context)
    const parent = { agent: 'parent', seq: test.history.head()?.seq ?? 0 }
    await artifacts.put('parent', 'memory', 'later', context)
    const data = { name: 'child', parent, revision: 'a'.repeat(64) }
    await test.history.append([{ kind: 'agent.forked', data, actor: 'operator', agent: 'child' }])
    expect(await artifacts.get('child', 'memory')).toMatchObject({ version: 1, text: 'old' })
    expect(await artifacts.put('child', 'memory', 'own', context, 1)).toMatchObject({ version: 2 })
    expect(await artifacts.get('child', 'memory')).toMatchObject({ version: 2, text: 'own' })
    expect(await artifacts.get('parent', 'memory')).toMatchObject({ version: 2, text: 'later' })
    expect((await artifacts.list('child')).map(({ version }) => version)).toEqual([2])
  })
})
