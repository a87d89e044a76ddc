// Rules of the whole repository that neither the compiler nor the linter can hold: who may import whom (ARCHITECTURE.md),
// which package is known in one place only, how long a file may be.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseSync } from 'oxc-parser'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const lineLimit = 400

interface Import {
  specifier: string
  isType: boolean
}

/** What a wall lets through: repository paths, `node:`, or package names; `*` stands for any package. */
interface Wall {
  /** Importers, by the start of their path. The first wall that fits holds. */
  of: RegExp
  may: RegExp
  /** What may be imported for its types alone. */
  mayTypes?: RegExp
}

const everywhereInKernel = String.raw`node:|pkg:|kernel/(errors|clock|failpoints|notices)\.ts|kernel/wire/`

const walls: Wall[] = [
  // A test may set up whatever it needs of its own side; what is started as a process stays a process.
  { of: /^kernel\/.*\.(test|contract)\.ts$|^kernel\/testing/, may: /^(node:|pkg:|kernel\/)/ },
  { of: /^executor-seed\/.*\.test\.ts$/, may: /^(node:|pkg:|kernel\/|executor-seed\/|#wire$)/ },
  { of: /^electron\/.*\.test\.ts$/, may: /^(node:|pkg:|kernel\/|electron\/)/ },
  { of: /^tasks\/.*\.test\.ts$/, may: /^(node:|pkg:|tasks\/)/ },
  { of: /^renderer\/.*\.test\.tsx?$/, may: /^(node:|pkg:|kernel\/wire\/|renderer\/)/ },

  { of: /^kernel\/wire\//, may: /^(kernel\/wire\/|pkg:zod$|pkg:@orpc\/contract$)/ },
  { of: /^kernel\/(kernel|doctor|status|resources|notice-record|suspension)\.ts$/, may: /^(node:|pkg:|kernel\/)/ },
  { of: /^kernel\/store\//, may: new RegExp(`^(${everywhereInKernel}|kernel/store/)`) },
  { of: /^kernel\/[^/]+\.ts$/, may: /^(node:|kernel\/(errors|clock)\.ts|kernel\/wire\/)/ },
  {
    // Runs by itself in a check box, where nothing else is.
    of: /^kernel\/guardian\/checks\/facts\/(?!.*\.fixture\.)/,
    may: /^(node:|pkg:oxc-parser$|kernel\/guardian\/checks\/facts\/)/,
    mayTypes: /^kernel\/wire\//,
  },
  { of: /^kernel\/guardian\/.*\.fixture\.ts$/, may: /^(node:|pkg:|kernel\/)/ },
  {
    // A mechanism. Of another it may know the interface: the file that has its folder's name.
    of: /^kernel\/([^/]+)\//,
    may: new RegExp(`^(${everywhereInKernel}|kernel/store/|kernel/history/|kernel/OWN/)`),
    mayTypes: /^kernel\/([^/]+)\/\1\.ts$/,
  },
  { of: /^executor-seed\//, may: /^(node:|executor-seed\/)/, mayTypes: /^#wire$/ },
  { of: /^renderer\/vite\.config\.ts$/, may: /^(node:|pkg:)/ },
  {
    of: /^renderer\//,
    may: /^(pkg:|renderer\/|kernel\/wire\/(operator[^/]*|statistics)\.ts$)/,
    mayTypes: /^kernel\/wire\//,
  },
  { of: /^electron\//, may: /^(node:|pkg:|electron\/|kernel\/kernel\.ts$|kernel\/wire\/)/ },
  { of: /^simulator\//, may: /^(node:|pkg:|simulator\/)/ },
  { of: /^tasks\//, may: /^(node:|tasks\/)/ },
  { of: /^e2e\//, may: /^(node:|pkg:|e2e\/)/, mayTypes: /^kernel\/wire\// },
  { of: /^bench\//, may: /^(node:|pkg:|bench\/|kernel\/)/ },
  { of: /^[^/]+$/, may: /^(node:|pkg:)/ },
]

/** Packages that one place knows, so that replacing one is a change of one place. */
const homes: Record<string, RegExp> = {
  'eventsource-parser': /^kernel\/models\//,
  'oxc-parser': /^kernel\/(guardian\/checks\/facts\/|tidy\.test\.ts$)/,
  openai: /^kernel\/models\/.*\.test\.ts$/,
  dockerode: /^kernel\/sandbox\//,
  'better-sqlite3': /^kernel\/store\/|^kernel\/.*\.test\.ts$/,
  electron: /^electron\/(main|preload|window|scheme|operator-port|keychain|desktop\/[^/]+)\.ts$/,
  'playwright-core': /^(e2e|bench)\//,
}

/** The rule that `imported` breaks in `importer` (a repository path), or null. */
function broken(importer: string, imported: Import): string | null {
  const target = resolve(importer, imported.specifier)
  const home = homes[target.replace(/^pkg:/, '')]
  if (home && !home.test(importer)) return `${target.slice(4)} is imported only in ${home.source}`
  const wall = walls.find((candidate) => candidate.of.test(importer))
  if (!wall) return 'no wall in kernel/tidy.test.ts names this folder'
  const own = importer.split('/')[1] ?? ''
  const may = new RegExp(wall.may.source.replace('OWN', own.replace(/\W/g, '\\$&')))
  if (may.test(target)) return null
  if (imported.isType && wall.mayTypes?.test(target)) return null
  return `${wall.of.source} may import ${may.source}${wall.mayTypes ? `, types of ${wall.mayTypes.source}` : ''}`
}

function resolve(importer: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(importer), specifier)
  if (specifier.startsWith('node:') || specifier.startsWith('#')) return specifier
  const [scope, name] = specifier.split('/')
  return `pkg:${specifier.startsWith('@') ? `${scope}/${name}` : scope}`
}

function importsOf(file: string, source: string): Import[] {
  const { module, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const imports: Import[] = module.staticImports.map((statement) => ({
    specifier: statement.moduleRequest.value,
    isType: statement.entries.length > 0 && statement.entries.every((entry) => entry.isType),
  }))
  for (const statement of module.staticExports) {
    for (const { moduleRequest, isType } of statement.entries) {
      if (moduleRequest) imports.push({ specifier: moduleRequest.value, isType })
    }
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const text = source.slice(moduleRequest.start, moduleRequest.end)
    const literal = /^(['"`])([^'"`$]+)\1$/.exec(text)?.[2]
    if (literal) imports.push({ specifier: literal, isType: false })
  }
  return imports
}

/** Tracked and new sources, without what git ignores. */
function sources(): string[] {
  const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'], {
    cwd: root,
    encoding: 'utf8',
  })
  return list.split('\n').filter((file) => file !== '' && existsSync(join(root, file)))
}

const files = sources().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

describe('the walls', () => {
  it('are kept by every import', () => {
    const violations = files.flatMap(({ path, text }) =>
      importsOf(path, text).flatMap((imported) => {
        const rule = broken(path, imported)
        return rule === null ? [] : [`${path} imports ${imported.specifier}: ${rule}`]
      }),
    )
    expect(violations).toEqual([])
  })

  const value = (specifier: string): Import => ({ specifier, isType: false })
  const type = (specifier: string): Import => ({ specifier, isType: true })
  it.each<[string, Import]>([
    ['kernel/wire/events.ts', value('node:fs')],
    ['kernel/wire/events.ts', value('../errors.ts')],
    ['kernel/guardian/state.ts', value('../models/gateway.ts')],
    ['kernel/guardian/state.ts', value('../models/models.ts')],
    ['kernel/guardian/state.ts', type('../models/gateway.ts')],
    ['kernel/guardian/state.ts', value('openai')],
    ['kernel/history/chain.ts', value('better-sqlite3')],
    ['kernel/store/writer.ts', value('../history/chain.ts')],
    ['kernel/models/gateway.ts', value('electron')],
    ['kernel/models/gateway.ts', value('../../simulator/server.ts')],
    ['kernel/models/gateway.test.ts', value('../../simulator/server.ts')],
    ['executor-seed/main.ts', value('#wire')],
    ['executor-seed/main.ts', value('zod')],
    ['executor-seed/main.ts', type('../kernel/wire/executor.ts')],
    ['renderer/main.tsx', value('node:fs')],
    ['renderer/main.tsx', value('../kernel/history/history.ts')],
    ['renderer/main.tsx', value('../kernel/wire/events.ts')],
    ['electron/serve.ts', value('electron')],
    ['electron/main.ts', value('../kernel/history/history.ts')],
    ['simulator/server.ts', value('../kernel/wire/executor.ts')],
    ['e2e/shell.e2e.test.ts', value('../kernel/kernel.ts')],
    ['tasks/maze/world.ts', value('zod')],
    ['newfolder/a.ts', value('node:fs')],
  ])('refuse in %s the import %o', (importer, imported) => {
    expect(broken(importer, imported)).not.toBeNull()
  })

  it.each<[string, Import]>([
    ['kernel/wire/operator.ts', value('@orpc/contract')],
    ['kernel/guardian/checks/imports.ts', value('../state.ts')],
    ['kernel/guardian/state.ts', type('../models/models.ts')],
    ['kernel/guardian/state.ts', value('../history/history.ts')],
    ['kernel/models/prices.ts', value('eventsource-parser')],
    ['kernel/store/writer.ts', value('better-sqlite3')],
    ['executor-seed/loop/turn.ts', type('#wire')],
    ['renderer/main.tsx', value('../kernel/wire/operator.ts')],
    ['electron/main.ts', value('electron')],
  ])('let through in %s the import %o', (importer, imported) => {
    expect(broken(importer, imported)).toBeNull()
  })

  it('keep the parser, whose native code can crash, out of every process of the host', () => {
    const hosts = ['electron/main.ts', 'electron/headless.ts', 'electron/cli.ts', 'kernel/store/writer.ts']
    expect(hosts.flatMap((host) => waysTo('pkg:oxc-parser', host))).toEqual([])
    expect(waysTo('pkg:oxc-parser', 'kernel/guardian/checks/facts/main.ts')).not.toEqual([])
    expect(waysTo('pkg:better-sqlite3', 'electron/main.ts')).not.toEqual([])
  })

  it('are seen in every form of import', () => {
    const text = `import a from './a.ts'; import type { B } from './b.ts'; import { type C } from './c.ts'
      import './d.ts'; export * from './e.ts'; export type { F } from './f.ts'; await import('./g.ts')`
    expect(importsOf('x.ts', text).map(({ specifier, isType }) => `${specifier} ${isType}`)).toEqual([
      './a.ts false',
      './b.ts true',
      './c.ts true',
      './d.ts false',
      './e.ts false',
      './f.ts true',
      './g.ts false',
    ])
  })
})

/** The files that load `target` by value, among all that `entry` loads. */
function waysTo(target: string, entry: string): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const seen = new Set([entry])
  const found: string[] = []
  for (const path of seen)
    for (const { specifier, isType } of importsOf(path, texts.get(path) ?? '')) {
      const to = resolve(path, specifier)
      if (isType) continue
      if (to === target) found.push(path)
      else if (texts.has(to)) seen.add(to)
    }
  return found
}

describe('every source', () => {
  it(`has at most ${lineLimit} lines, or says why not`, () => {
    const long = files
      .filter(({ text }) => text.split('\n').length - 1 > lineLimit && !/^\s*\/\/ Long because: \S/m.test(text))
      .map(({ path, text }) => `${path}: ${text.split('\n').length - 1} lines without a line "// Long because: …"`)
    expect(long).toEqual([])
  })

  it('of the kernel leaves the console alone', () => {
    const talkers = files
      .filter(({ path }) => path.startsWith('kernel/') && !path.endsWith('.test.ts'))
      .filter(({ path, text }) => mentionsConsole(parseSync(path, text).program))
      .map(({ path }) => path)
    expect(talkers).toEqual([])
  })

  it('of the seed is counted', () => {
    const seed = files.filter(({ path }) => path.startsWith('executor-seed/') && !path.endsWith('.test.ts'))
    const lines = seed.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
    console.info(`executor-seed: ${lines} lines in ${seed.length} files`)
    expect(lines).toBeLessThan(2_100)
  })
})

function mentionsConsole(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(mentionsConsole)
  if (typeof node !== 'object' || node === null) return false
  const { type, object } = node as { type?: string; object?: { type: string; name?: string } }
  if (type === 'MemberExpression' && object?.type === 'Identifier' && object.name === 'console') return true
  return Object.values(node).some(mentionsConsole)
}
