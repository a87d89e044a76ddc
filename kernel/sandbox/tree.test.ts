import { Readable } from 'node:stream'
import fc from 'fast-check'
import { type Header, pack } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { intakeLimits } from './sandbox.ts'
import { escapePath, nameFault, readTree } from './tree.ts'

type Entry = Partial<Header> & { name: string; body?: string | Buffer }

async function tarOf(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack()
  const chunks: Buffer[] = []
  const whole = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer)
  })()
  for (const { body, ...header } of entries) {
    if (header.type === undefined || header.type === 'file') archive.entry(header, body ?? '')
    else archive.entry(header)
  }
  archive.finalize()
  await whole
  return Buffer.concat(chunks)
}

const read = async (entries: readonly Entry[]) => readTree(Readable.from([await tarOf(entries)]))

describe('reading a tree from a tar', () => {
  it('[C22] takes regular text files, sorted, and leaves out what the kernel wrote', async () => {
    const result = await read([
      { name: './', type: 'directory', mode: 0o755 },
      { name: './main.ts', body: 'b' },
      { name: './lib/', type: 'directory', mode: 0o755 },
      { name: './lib/naïve.md', body: '\ufeffé' },
      { name: './package.json', body: '{}', mode: 0o755 },
      { name: './wire.d.ts', body: 'x' },
    ])
    expect(result).toEqual({
      ok: true,
      files: [
        { path: 'lib/naïve.md', text: '\ufeffé' },
        { path: 'main.ts', text: 'b' },
      ],
    })
  })

  const refused: [why: string, entries: Entry[], path: string, problem: RegExp][] = [
    ['leaves the tree', [{ name: '../x.ts' }], '../x.ts', /"\.\."/],
    ['leaves it from within', [{ name: 'a/../../x.ts' }], 'a/../../x.ts', /"\.\."/],
    ['is absolute', [{ name: '/etc/x.ts' }], '/etc/x.ts', /relative/],
    ['is a symbolic link', [{ name: 'a.ts', type: 'symlink', linkname: '/etc/passwd' }], 'a.ts', /symbolic link/],
    [
      'is a link in place of a kernel file',
      [{ name: 'package.json', type: 'symlink', linkname: 'x' }],
      'package.json',
      /symbolic/,
    ],
    ['is a hard link', [{ name: 'a.ts', type: 'link', linkname: 'b.ts' }], 'a.ts', /hard link/],
    ['is a device', [{ name: 'a.ts', type: 'character-device' }], 'a.ts', /device/],
    ['is a pipe', [{ name: 'a.ts', type: 'fifo' }], 'a.ts', /pipe/],
    ['is set-user', [{ name: 'a.ts', mode: 0o4644 }], 'a.ts', /set-user/],
    ['is executable', [{ name: 'a.ts', mode: 0o755 }], 'a.ts', /executable/],
    ['begins with a dot', [{ name: 'a/.git/x.ts' }], 'a/.git/x.ts', /dot/],
    ['has another extension', [{ name: 'a.sh' }], 'a.sh', /only .ts/],
    ['has no extension', [{ name: 'Makefile' }], 'Makefile', /only .ts/],
    ['hides a character', [{ name: 'a\u202e.ts' }], 'a\\u{202e}.ts', /characters/],
    ['has a line break', [{ name: 'a\nb.ts' }], 'a\\u{a}b.ts', /characters/],
    ['is not in form C', [{ name: 'e\u0301.ts' }], 'e\\u{301}.ts', /normal form C/],
    ['comes twice', [{ name: 'a.ts' }, { name: 'a.ts' }], 'a.ts', /twice/],
    ['has a case twin', [{ name: 'a.ts' }, { name: 'A.ts' }], 'A.ts', /differs from a\.ts only/],
    ['has a sharp-s twin', [{ name: 'ß.ts' }, { name: 'SS.ts' }], 'SS.ts', /differs/],
    ['has a folder twin', [{ name: 'a/x.ts' }, { name: 'A/y.ts' }], 'A/y.ts', /differs from a only/],
    ['is a file and a folder', [{ name: 'a.ts' }, { name: 'a.ts/b.ts' }], 'a.ts/b.ts', /file and a folder/],
    ['is a folder and a file', [{ name: 'a.ts/b.ts' }, { name: 'a.ts' }], 'a.ts', /twice/],
    ['is not text', [{ name: 'a.txt', body: Buffer.from([0xff, 0xfe]) }], 'a.txt', /UTF-8/],
    ['holds NUL', [{ name: 'a.txt', body: 'a\0b' }], 'a.txt', /UTF-8/],
    ['is too large', [{ name: 'a.txt', body: 'x'.repeat(intakeLimits.fileBytes + 1) }], 'a.txt', /larger/],
    [
      'is too deep',
      [{ name: `${'d/'.repeat(intakeLimits.depth)}x.ts` }],
      `${'d/'.repeat(intakeLimits.depth)}x.ts`,
      /deeper/,
    ],
    ['has a long path', [{ name: `${'x'.repeat(200)}.ts` }], `${'x'.repeat(200)}.ts`, /longer/],
  ]
  it.each(refused)('[C22] [G11] refuses a file that %s', async (_why, entries, path, problem) => {
    const result = await read(entries)
    expect(result).toMatchObject({ ok: false })
    expect(result.ok ? [] : result.problems).toContainEqual({ path, problem: expect.stringMatching(problem) })
  })

  it('refuses too many files, too many bytes, and an archive that does not end', async () => {
    const many = Array.from({ length: intakeLimits.files + 1 }, (_, index) => ({ name: `${index}.ts` }))
    expect(await read(many)).toMatchObject({
      ok: false,
      problems: [{ path: '.', problem: expect.stringMatching(/files/) }],
    })
    const large = Array.from({ length: 9 }, (_, i) => ({ name: `${i}.ts`, body: 'x'.repeat(intakeLimits.fileBytes) }))
    expect(await read(large)).toMatchObject({
      ok: false,
      problems: [{ problem: expect.stringMatching(/bytes in all/) }],
    })
    const zeros = new Readable({
      read() {
        this.push(Buffer.alloc(65536))
      },
    })
    expect(await readTree(zeros)).toMatchObject({
      ok: false,
      problems: [{ problem: expect.stringMatching(/in the archive/) }],
    })
  })

  it('refuses a cut or broken archive', async () => {
    const whole = await tarOf([{ name: 'a.ts', body: 'x'.repeat(2000) }])
    for (const bytes of [whole.subarray(0, 700), Buffer.alloc(512, 7)]) {
      expect(await readTree(Readable.from([bytes]))).toMatchObject({ ok: false })
    }
  })

  it('lets no name out of the tree, whatever the archive says', async () => {
    const step = fc.oneof(
      fc.constantFrom('..', '.', '', 'a', 'A', 'b.ts', 'é.md', 'e\u0301.md', '\u202e.ts', '.git', '~', 'C:', '\\..\\'),
      fc.string({ maxLength: 6 }),
    )
    const name = fc
      .array(step, { minLength: 1, maxLength: 5 })
      .map((steps) => `${steps.join('/')}`.replaceAll('\0', ''))
    const entry = fc.record({
      name: name.filter((text) => text !== ''),
      type: fc.constantFrom('file', 'file', 'file', 'directory', 'symlink', 'link', 'fifo') as fc.Arbitrary<
        Header['type']
      >,
      mode: fc.constantFrom(0o644, 0o644, 0o644, 0o755, 0o4755),
      linkname: fc.constantFrom('/etc/passwd', '../x', 'a'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), async (entries) => {
        const result = await read(entries as Entry[])
        if (!result.ok) return result.problems.length > 0
        const paths = result.files.map(({ path }) => path)
        const folded = new Set(paths.map((path) => path.toLowerCase()))
        return (
          folded.size === paths.length && paths.every((path) => nameFault(path) === null && !/(^|\/)\.|^\//.test(path))
        )
      }),
      { numRuns: 300 },
    )
  })

  it('shows what could deceive in a name', () => {
    expect(escapePath('a\u0000b\u001b[31m\u200b\\x')).toBe('a\\u{0}b\\u{1b}[31m\\u{200b}\\u{5c}x')
  })
})
