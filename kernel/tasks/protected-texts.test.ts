import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { protectedTexts } from './protected-texts.ts'

const packsRoot = mkdtempSync(join(tmpdir(), 'packs-'))
afterEach(() => rmSync(packsRoot, { recursive: true, force: true }))

const created = (task: string, instruction: string, pack: string | null) => ({
  kind: 'task.created',
  task,
  data: { instruction, pack },
})

describe('what a policy may not know by heart', () => {
  it('is the instructions of its agent’s tasks, and tests, answers and names of their packs; what is gone is named', async () => {
    mkdirSync(join(packsRoot, 'ledger/tests/deep'), { recursive: true })
    writeFileSync(join(packsRoot, 'ledger/tests/deep/test.sh'), 'expected 42')
    writeFileSync(join(packsRoot, 'ledger/tests/image'), Buffer.from([1, 0, 2]))
    const events = [created('T-3', 'Do it.', 'ledger'), created('T-2', 'Do it.', null), created('T-1', 'Go.', 'gone')]
    const asked: unknown[] = []
    const read = async (view: unknown) => {
      asked.push(view)
      return { events, next: null }
    }
    const texts = await protectedTexts({ history: { read } as never, packsRoot })('apprentice')
    expect(asked).toEqual([{ agent: 'apprentice' }])
    expect(texts).toEqual([
      { label: 'instruction of T-3', text: 'Do it.' },
      { label: 'instruction of T-1', text: 'Go.' },
      { label: 'name of the pack ledger', text: 'ledger', isId: true },
      { label: 'tests of the pack ledger', text: 'expected 42' },
      { label: 'name of the pack gone', text: 'gone', isId: true },
      { label: 'tests of the pack gone', text: null },
      { label: 'solution of the pack gone', text: null },
    ])
  })
})
