import { mkdtempSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdLock } from '../store/lock.ts'
import { draft } from '../wire/events.ts'
import { openTestHistory } from './fixture.ts'

describe('the lock of a data directory', () => {
  it('[C4] once moved away lets its holder write no more, so that two hosts never do', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'exodesk-lock-'))
    const lock = holdLock(dataDir)
    const first = await openTestHistory({ dataDir })
    const note = draft('note.added', { text: 'mine' }, { actor: 'executor', agent: 'a' })
    await first.history.append([note])
    renameSync(join(dataDir, 'lock.db'), join(dataDir, 'moved.db'))
    const second = holdLock(dataDir)
    const other = await openTestHistory({ dataDir })
    await expect(first.history.append([note])).rejects.toThrow(/lock.db was moved or replaced.*Quit this one/)
    await other.history.append([note])
    await first.history.close()
    expect(await other.history.verify()).toMatchObject({ ok: true, events: 2 })
    await other.close()
    second.release()
    lock.release()
  })
})
