// Builds dist/ (or, with --smoke, dist-smoke/) from source. With --if-stale it does nothing when the sources are those
// of the last build. Runs under the pinned Node; two builds of one folder wait for each other.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, relative } from 'node:path'
import { build } from 'vite'
import { root } from './setup.mjs'

const smoke = process.argv.includes('--smoke')
const outDir = join(root, smoke ? 'dist-smoke' : 'dist')
const stamp = join(outDir, '.sources')
/** Built here and moved: whoever starts meanwhile finds whole files, never half of one. */
const fresh = join(outDir, '.fresh')
/** Built into host and page: a page that was built for another contract than its host speaks says so. */
const define = { __EXODESK_CONTRACT__: JSON.stringify(contractHash()) }

/** Entry name → source. Every one becomes OUT/NAME.cjs. */
const nodeEntries = {
  main: 'electron/main.ts',
  headless: 'electron/headless.ts',
  cli: 'electron/cli.ts',
}
// Native parts of ssh2 are for Docker over SSH, which is not offered; it does without where they cannot be loaded.
const external = ['electron', ...(smoke ? [] : ['better-sqlite3']), ...builtinModules, /^node:/, /\.node$/]

await withLock(async () => {
  const hash = sourceHash()
  if (process.argv.includes('--if-stale') && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  console.error('Building the desk …')
  rmSync(stamp, { force: true })
  rmSync(fresh, { recursive: true, force: true })
  await build(nodeBundle(nodeEntries))
  // By itself, so that a thread of the store loads no more than it runs.
  await build(nodeBundle({ writer: 'kernel/store/writer.ts' }))
  // A sandboxed preload cannot require a second file.
  await build(nodeBundle({ preload: 'electron/preload.ts' }))
  // Started as a process under Node, from source in a clone; an installed app has no packages for it to import.
  await build(nodeBundle({ simulator: 'simulator/main.ts' }, 'es'))
  await build({
    configFile: join(root, 'renderer', 'vite.config.ts'),
    logLevel: 'warn',
    define,
    build: { outDir: join(fresh, 'renderer') },
  })
  putInPlace()
  writeFileSync(stamp, hash)
})

function nodeBundle(entries, format = 'cjs') {
  const extension = format === 'es' ? 'mjs' : 'cjs'
  return {
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    define,
    plugins: smoke ? [smokeSqlite()] : [],
    ssr: { noExternal: true, external: external.filter((name) => typeof name === 'string') },
    build: {
      outDir: fresh,
      emptyOutDir: false,
      target: 'node20.18',
      ssr: true,
      minify: false,
      rolldownOptions: {
        external,
        checks: { bundlerTimings: false },
        input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(root, file)])),
        output: { format, entryFileNames: `[name].${extension}`, chunkFileNames: `shared-[hash].${extension}` },
      },
    },
  }
}

/** What the entries need comes before the entries; what no entry needs any more goes last. */
function putInPlace() {
  const rank = (name) => (name.startsWith('shared-') ? 0 : name === 'renderer' ? 1 : 2)
  const names = readdirSync(fresh).sort((a, b) => rank(a) - rank(b))
  for (const name of names) {
    if (name === 'renderer') rmSync(join(outDir, name), { recursive: true, force: true })
    renameSync(join(fresh, name), join(outDir, name))
  }
  for (const name of readdirSync(outDir))
    if (name.startsWith('shared-') && !names.includes(name)) rmSync(join(outDir, name))
  rmSync(fresh, { recursive: true, force: true })
}

/** The Electron that CI can get is older than better-sqlite3 allows; it comes with a build that it can load. */
function smokeSqlite() {
  const runtime = process.env.ELECTRON_OVERRIDE_DIST_PATH
  if (!runtime) throw new Error('build:smoke needs ELECTRON_OVERRIDE_DIST_PATH (the folder of the smoke Electron)')
  const id = join(runtime, 'better-sqlite3', 'lib', 'index.js')
  return {
    name: 'smoke-better-sqlite3',
    enforce: 'pre',
    resolveId: (source) => (source === 'better-sqlite3' ? { id, external: 'absolute' } : null),
  }
}

function contractHash() {
  const hash = createHash('sha256')
  const folder = join(root, 'kernel', 'wire')
  for (const name of readdirSync(folder).sort()) if (name.endsWith('.ts')) hash.update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}

function sourceHash() {
  const hash = createHash('sha256').update(JSON.stringify([outDir, process.env.ELECTRON_OVERRIDE_DIST_PATH ?? '']))
  const files = ['package-lock.json']
  for (const folder of ['electron', 'kernel', 'renderer', 'simulator']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (file.isFile() && !/\.test\.tsx?$/.test(file.name))
        files.push(relative(root, join(file.parentPath, file.name)))
    }
  }
  for (const file of files.sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

async function withLock(work) {
  mkdirSync(outDir, { recursive: true })
  const lock = join(outDir, '.building')
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (isHeld(lock)) await new Promise((resolve) => setTimeout(resolve, 200))
      else rmSync(lock, { force: true })
    }
  }
  try {
    await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function isHeld(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
