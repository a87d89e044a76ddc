import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readSeed } from '../../../resources.ts'
import type { TreeFile } from '../../../sandbox/sandbox.ts'
import { requestSchemas } from '../../../wire/executor-schema.ts'
import type { ReadFile } from '../delta.ts'
import { factsOf } from './facts.ts'

/** The starting policy. */
export const seed: readonly TreeFile[] = await readSeed(join(import.meta.dirname, '../../../../executor-seed'))

/** The tool that the simulator's apprentice writes, from itself. */
export function apprenticeTool(name: string): string {
  const player = pathToFileURL(join(import.meta.dirname, '../../../../simulator/players/round-tool.ts')).href
  const wishes = JSON.stringify({ name, mostActions: null, remark: null })
  const program = `import { roundTool } from ${JSON.stringify(player)}; process.stdout.write(roundTool(${wishes}))`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
}

const methods = Object.keys(requestSchemas)
const known = new Map<string, ReadFile>()

/** Read in this process, each text once: what a test writes is no stranger's. */
export function read(files: readonly TreeFile[]): ReadFile[] {
  return files.map(({ path, text }) => {
    const key = `${path}\n${text}`
    const facts = known.get(key)?.facts ?? factsOf({ methods, files: [{ path, text }] })[0]
    const file = { path, text, facts: facts as ReadFile['facts'] }
    known.set(key, file)
    return file
  })
}

/** The tree with these files written (null: removed). */
export function withFiles(tree: readonly TreeFile[], files: Record<string, string | null>): TreeFile[] {
  const kept = tree.filter(({ path }) => !(path in files))
  return [...kept, ...Object.entries(files).flatMap(([path, text]) => (text === null ? [] : [{ path, text }]))]
}

/** The starting policy with one piece of one file replaced. @throws where the piece is not there: the test is then about nothing. */
export function edited(path: string, from: string, to: string): TreeFile[] {
  const text = seed.find((file) => file.path === path)?.text
  if (text === undefined || !text.includes(from)) throw new Error(`${path} has no ${from}`)
  return withFiles(seed, { [path]: text.replaceAll(from, to) })
}
