import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { History } from '../history/history.ts'

/** Of one pack; the rest is not compared. */
const filesMost = 50
const fileBytes = 256 * 1024
/** An agent's latest tasks. */
const tasksMost = 100

export interface ProtectedText {
  /** `instruction of T-3`. */
  label: string
  /** Null: it cannot be had any more. */
  text: string | null
  isId?: boolean
}

/** What the policy of an agent may not know by heart: instructions of its tasks, tests and answers of their packs, their names. */
export function protectedTexts({ history, packsRoot }: { history: Pick<History, 'read'>; packsRoot: string }) {
  return async (agent: string): Promise<ProtectedText[]> => {
    const { events } = await history.read({ agent }, { kinds: ['task.created'], limit: tasksMost, order: 'desc' })
    const texts: ProtectedText[] = []
    const packs = new Set<string>()
    const instructions = new Set<string>()
    for (const event of events) {
      if (event.kind !== 'task.created') continue
      const { instruction, pack } = event.data
      if (!instructions.has(instruction)) texts.push({ label: `instruction of ${event.task}`, text: instruction })
      instructions.add(instruction)
      if (pack !== null) packs.add(pack)
    }
    for (const pack of packs) texts.push(...(await packTexts(resolve(packsRoot, pack), pack)))
    return texts
  }
}

async function packTexts(dir: string, pack: string): Promise<ProtectedText[]> {
  const texts: ProtectedText[] = [{ label: `name of the pack ${pack}`, text: pack, isId: true }]
  for (const [folder, what] of [
    ['tests', 'tests'],
    ['solution', 'solution'],
  ] as const) {
    try {
      const entries = await readdir(join(dir, folder), { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile()).slice(0, filesMost)
      for (const { parentPath, name } of files) {
        const bytes = await readFile(join(parentPath, name))
        if (bytes.includes(0)) continue
        texts.push({ label: `${what} of the pack ${pack}`, text: bytes.subarray(0, fileBytes).toString('utf8') })
      }
    } catch (error) {
      // A pack without a folder has nothing in it; one that is gone is another matter.
      const isThere = await readdir(dir).then(
        () => true,
        () => false,
      )
      if (!isThere || (error as NodeJS.ErrnoException).code !== 'ENOENT')
        texts.push({ label: `${what} of the pack ${pack}`, text: null })
    }
  }
  return texts
}
