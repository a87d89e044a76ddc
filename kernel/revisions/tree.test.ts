import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from '../history/fixture.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import type { Revisions } from './revisions.ts'
import { createRevisions } from './tree.ts'

let test: TestHistory
let boxesDir: string
let revisions: Revisions
beforeAll(async () => {
  test = await openTestHistory()
  boxesDir = join(test.dataDir, 'boxes')
  revisions = createRevisions({ history: test.history, boxesDir, wireSource: 'export interface Wire {}\n' })
})
afterAll(async () => {
  for (const entry of readdirSync(boxesDir, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
  await test.close()
})

const tree: TreeFile[] = [
  { path: 'main.ts', text: "import type { Wire } from '#wire'\n" },
  { path: 'tools/shell.ts', text: 'export const shell = 1\n' },
  { path: 'tools/deep/er.md', text: 'déjà\r\n' },
]

describe('a revision', () => {
  it('is named by what is in it, whatever order the files come in, and is read back byte for byte', async () => {
    const revision = await revisions.put(tree)
    expect(revision).toMatch(/^[0-9a-f]{64}$/)
    expect(await revisions.put([...tree].reverse())).toBe(revision)
    expect(await revisions.put(tree.with(0, { path: 'main.ts', text: 'other' }))).not.toBe(revision)
    expect(await revisions.put(tree.with(0, { path: 'main2.ts', text: tree[0]?.text ?? '' }))).not.toBe(revision)
    expect((await revisions.read(revision)).sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
      [...tree].sort((a, b) => (a.path < b.path ? -1 : 1)),
    )
    expect(await revisions.has(revision)).toBe(true)
  })

  it('is not what somebody stored as a blob, though it looks like one', async () => {
    const manifest = await test.history.getBlob(await revisions.put(tree))
    const forged = await test.history.putBlob(manifest.toString().replace('main.ts', '../../x'))
    await test.history.grantBlob('a', forged)
    for (const hash of [forged, 'f'.repeat(64), 'no hash']) {
      expect(await revisions.has(hash)).toBe(false)
      await expect(revisions.read(hash)).rejects.toMatchObject({ code: 'not-found' })
      await expect(revisions.materialise(hash)).rejects.toMatchObject({ code: 'not-found' })
    }
    expect(existsSync(join(boxesDir, 'revisions'))).toBe(false)
  })

  it.each([
    ['../main.ts'],
    ['/etc/passwd'],
    ['a//b.ts'],
    ['./a.ts'],
    ['a/../b.ts'],
    [''],
    ['a\\b.ts'],
    ['C:x.ts'],
    ['a\0.ts'],
    ['a\n.ts'],
    ['e\u0301.ts'],
    ['package.json'],
    ['Package.JSON'],
    ['wire.d.ts'],
    ['x'.repeat(201)],
    ['main.ts'],
    ['MAIN.ts'],
    ['main.ts/x.ts'],
    ['Tools/x.ts'],
  ])('cannot have the file %j', async (path) => {
    await expect(revisions.put([...tree, { path, text: '' }])).rejects.toMatchObject({ code: 'invalid' })
  })

  it('cannot be empty, nor hold text without UTF-8', async () => {
    await expect(revisions.put([])).rejects.toMatchObject({ code: 'invalid' })
    await expect(revisions.put([{ path: 'a.ts', text: '\udc00' }])).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('materialise', () => {
  /** Path to content and mode of everything below a folder. */
  function listing(folder: string): Record<string, string> {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
      const file = join(entry.parentPath, entry.name)
      const mode = (lstatSync(file).mode & 0o777).toString(8)
      return [
        file.slice(folder.length + 1),
        entry.isDirectory() ? `folder ${mode}` : `${mode} ${readFileSync(file, 'utf8')}`,
      ]
    })
    return Object.fromEntries(entries)
  }
  const wanted = {
    'main.ts': `444 ${tree[0]?.text}`,
    tools: 'folder 555',
    'tools/shell.ts': `444 ${tree[1]?.text}`,
    'tools/deep': 'folder 555',
    'tools/deep/er.md': `444 ${tree[2]?.text}`,
    'package.json': expect.stringMatching(/^444 \{[\s\S]*"imports": \{\s*"#wire": "\.\/wire\.d\.ts"/),
    'wire.d.ts': '444 export interface Wire {}\n',
  }

  it('lays the tree read-only below boxes, with the kernel’s files beside it, and leaves nothing else', async () => {
    const revision = await revisions.put(tree)
    const [folder, again] = await Promise.all([revisions.materialise(revision), revisions.materialise(revision)])
    expect(folder).toBe(join(boxesDir, 'revisions', revision))
    expect(again).toBe(folder)
    expect(lstatSync(folder).mode & 0o777).toBe(0o555)
    expect(listing(folder)).toEqual(wanted)
    expect(readdirSync(join(boxesDir, 'revisions'))).toEqual([revision])
    expect(revisions.kernelFiles().map(({ path }) => path)).toEqual(['package.json', 'wire.d.ts'])
  })

  it('leaves alone what is as it should be', async () => {
    const folder = await revisions.materialise(await revisions.put(tree))
    const before = lstatSync(folder).ino
    await revisions.materialise(await revisions.put(tree))
    expect(lstatSync(folder).ino).toBe(before)
  })

  const open = (folder: string) => {
    for (const path of ['.', 'tools', 'tools/deep']) chmodSync(join(folder, path), 0o755)
  }
  it.each<[string, (folder: string) => unknown]>([
    [
      'a changed file',
      (folder) => [
        chmodSync(join(folder, 'main.ts'), 0o644),
        writeFileSync(join(folder, 'main.ts'), 'evil'),
        chmodSync(join(folder, 'main.ts'), 0o444),
      ],
    ],
    ['a writable file', (folder) => chmodSync(join(folder, 'main.ts'), 0o644)],
    ['a writable folder', (folder) => chmodSync(join(folder, 'tools'), 0o755)],
    ['a file too many', (folder) => [open(folder), writeFileSync(join(folder, 'tools', 'extra.ts'), '')]],
    ['a folder too many', (folder) => [open(folder), mkdirSync(join(folder, 'node_modules'))]],
    ['a missing file', (folder) => [open(folder), unlinkSync(join(folder, 'tools/deep/er.md'))]],
    [
      'a changed package.json',
      (folder) => [
        open(folder),
        rmSync(join(folder, 'package.json')),
        writeFileSync(join(folder, 'package.json'), '{}', { mode: 0o444 }),
      ],
    ],
    [
      'a link for a file',
      (folder) => [
        open(folder),
        renameSync(join(folder, 'main.ts'), join(boxesDir, 'elsewhere.ts')),
        symlinkSync(join(boxesDir, 'elsewhere.ts'), join(folder, 'main.ts')),
      ],
    ],
    ['a second name for a file', (folder) => linkSync(join(folder, 'main.ts'), join(boxesDir, 'twin.ts'))],
    [
      'a link for a folder',
      (folder) => [
        open(folder),
        renameSync(join(folder, 'tools'), join(boxesDir, 'moved')),
        symlinkSync(join(boxesDir, 'moved'), join(folder, 'tools')),
      ],
    ],
    [
      'a file for the whole folder',
      (folder) => [open(folder), renameSync(folder, join(boxesDir, 'gone')), writeFileSync(folder, '')],
    ],
    [
      'a link for the whole folder',
      (folder) => [renameSync(folder, join(boxesDir, 'away')), symlinkSync(join(boxesDir, 'away'), folder)],
    ],
    ['nothing', (folder) => renameSync(folder, join(boxesDir, 'nothing'))],
  ])('[G2] lays it anew where it finds %s', async (_name, change) => {
    const revision = await revisions.put(tree)
    const folder = await revisions.materialise(revision)
    change(folder)
    expect(await revisions.materialise(revision)).toBe(folder)
    expect(lstatSync(folder).isDirectory()).toBe(true)
    expect(listing(folder)).toEqual(wanted)
    expect(readdirSync(join(boxesDir, 'revisions'))).toEqual([revision])
  })

  it('goes on from what a crash left half laid', async () => {
    const revision = await revisions.put([{ path: 'main.ts', text: 'crash' }])
    const parent = join(boxesDir, 'revisions')
    mkdirSync(join(parent, `.next-${revision}`, 'half'), { recursive: true })
    writeFileSync(join(parent, `.next-${revision}`, 'main.ts'), 'ha')
    chmodSync(join(parent, `.next-${revision}`, 'half'), 0o555)
    const folder = await revisions.materialise(revision)
    expect(readFileSync(join(folder, 'main.ts'), 'utf8')).toBe('crash')
    expect(readdirSync(parent).filter((name) => name.startsWith('.'))).toEqual([])
  })
})

describe('a diff', () => {
  it('counts the lines that came and went, by file', async () => {
    const [from, to] = await Promise.all([
      revisions.put([
        { path: 'same.ts', text: 'x\n' },
        { path: 'b.ts', text: 'one\ntwo\nthree\n' },
        { path: 'gone.ts', text: 'a\nb' },
      ]),
      revisions.put([
        { path: 'same.ts', text: 'x\n' },
        { path: 'b.ts', text: 'one\n2\nthree\nfour\n' },
        { path: 'a/new.ts', text: 'n\n' },
      ]),
    ])
    expect(await revisions.changes(from, to)).toEqual([
      { path: 'a/new.ts', change: 'added', addedLines: 1, removedLines: 0 },
      { path: 'b.ts', change: 'changed', addedLines: 2, removedLines: 1 },
      { path: 'gone.ts', change: 'removed', addedLines: 0, removedLines: 2 },
    ])
    expect(await revisions.changes(from, from)).toEqual([])
  })

  it('is a unified diff', () => {
    const diff = revisions.diff(
      [{ path: 'b.ts', text: 'one\ntwo\n' }],
      [
        { path: 'b.ts', text: 'one\n2\n' },
        { path: 'n.ts', text: 'new' },
      ],
    )
    expect(diff).toBe(
      [
        '--- a/b.ts',
        '+++ b/b.ts',
        '@@ -1,2 +1,2 @@',
        ' one',
        '-two',
        '+2',
        '--- /dev/null',
        '+++ b/n.ts',
        '@@ -0,0 +1,1 @@',
        '+new',
        '\\ No newline at end of file',
        '',
      ].join('\n'),
    )
  })

  it('that is too long is cut at a line, and says so', () => {
    const text = Array.from({ length: 1_000 }, (_, n) => `line ${n}\n`).join('')
    const diff = revisions.diff(
      [{ path: 'z.ts', text: 'x\n' }],
      [
        { path: 'a.ts', text },
        { path: 'z.ts', text: 'y\n' },
      ],
      500,
    )
    const lines = diff.split('\n')
    expect(lines.at(-2)).toBe('# cut at 500 bytes: the rest of a.ts and 1 more files is not shown')
    expect(lines.slice(3, -2).every((line, n) => line === `+line ${n}`)).toBe(true)
    expect(Buffer.byteLength(lines.slice(0, -2).join('\n'))).toBeLessThanOrEqual(500)
  })

  it('of files too different to compare in time shows them whole, and says so', () => {
    const text = (salt: number) => Array.from({ length: 30_000 }, (_, n) => `${(n * salt) % 99_991}\n`).join('')
    const [from, to] = [[{ path: 'big.ts', text: text(7) }], [{ path: 'big.ts', text: text(13) }]]
    const diff = revisions.diff(from, to, 10_000_000)
    expect(diff.split('\n')[0]).toBe('# big.ts: too much changed to compare line by line; shown whole')
    expect(revisions.compare(from, to)).toEqual([
      { path: 'big.ts', change: 'changed', addedLines: 30_000, removedLines: 30_000 },
    ])
  })
})
