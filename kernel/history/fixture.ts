import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import type { History } from './history.ts'
import { openHistory } from './open.ts'

export interface TestHistory {
  history: History
  dataDir: string
  /** Closes and opens it again, as a restart does. */
  reopen(): Promise<History>
  close(): Promise<void>
}

/** For tests: a real history in a folder of its own, which `close` removes. */
export async function openTestHistory(options: { clock?: Clock; dataDir?: string } = {}): Promise<TestHistory> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'exodesk-history-'))
  const open = () => openHistory({ dataDir, clock: options.clock ?? systemClock, version: 'test' })
  const test: TestHistory = {
    history: await open(),
    dataDir,
    async reopen() {
      await test.history.close()
      test.history = await open()
      return test.history
    },
    async close() {
      await test.history.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return test
}
