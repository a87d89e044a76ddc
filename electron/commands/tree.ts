import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BadArguments } from './command.ts'
import { inert } from './text.ts'

export interface TreeFile {
  path: string
  text: string
}

/** The kernel's own caps for a proposal (kernel/sandbox: intakeLimits); held here too, so that a wrong folder ends early. */
const caps = { files: 500, fileBytes: 256 * 1024, totalBytes: 2 * 1024 * 1024, depth: 12 } as const
/** Written beside a revision by the kernel, or by an editor's package manager: never part of a tree. */
const skippedFolders = ['node_modules']
const shownProblems = 20

/**
 * A folder as the tree of a proposal: its regular text files. `node_modules` is left out.
 * @throws BadArguments naming every file that cannot be part of one: links, names that start with a dot, what is not UTF-8
 * text, what is over a cap.
 */
export async function readTree(dir: string): Promise<TreeFile[]> {
  const files: TreeFile[] = []
  const problems: string[] = []
  let totalBytes = 0
  const root = await lstat(dir).catch(() => null)
  if (root === null || !root.isDirectory()) throw new BadArguments(`--tree ${dir} is not a folder`)
  await walk('', 1)
  if (files.length > caps.files) problems.push(`there are ${files.length} files, at most ${caps.files} are taken`)
  if (totalBytes > caps.totalBytes) problems.push(`it has ${totalBytes} bytes, at most ${caps.totalBytes} are taken`)
  if (problems.length === 0 && files.length === 0) problems.push('it holds no file')
  if (problems.length > 0) {
    const more = problems.length > shownProblems ? [`and ${problems.length - shownProblems} more`] : []
    throw new BadArguments(
      `${dir} cannot be proposed:\n${[...problems.slice(0, shownProblems), ...more].map((line) => `  ${line}`).join('\n')}`,
    )
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))

  async function walk(folder: string, depth: number): Promise<void> {
    for (const entry of await readdir(join(dir, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && skippedFolders.includes(entry.name)) continue
      if (entry.name.startsWith('.')) problems.push(`${inert(path)}: its name starts with a dot`)
      else if (entry.isDirectory() && depth >= caps.depth)
        problems.push(`${inert(path)}: deeper than ${caps.depth} folders`)
      else if (entry.isDirectory()) await walk(path, depth + 1)
      else if (entry.isFile()) await take(path)
      else problems.push(`${inert(path)}: ${entry.isSymbolicLink() ? 'a link' : 'not a regular file'}`)
    }
  }

  async function take(path: string): Promise<void> {
    const { size } = await lstat(join(dir, path))
    totalBytes += size
    if (size > caps.fileBytes) problems.push(`${inert(path)}: ${size} bytes, at most ${caps.fileBytes} are taken`)
    // Over a cap already: what is left is counted and not read.
    if (size > caps.fileBytes || totalBytes > caps.totalBytes || files.length > caps.files) return
    const bytes = await readFile(join(dir, path))
    const text = bytes.toString('utf8')
    if (text.includes('\0') || !Buffer.from(text, 'utf8').equals(bytes)) problems.push(`${inert(path)}: not UTF-8 text`)
    else files.push({ path: path.normalize('NFC'), text })
  }
}
