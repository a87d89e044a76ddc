import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '../..')

/**
 * Builds the threads of the store once, for this process and all that it starts: from source each would strip its types
 * again, which takes it half a second, and two that do so at once can end the process (a fault of V8: nodejs/node#64500).
 * @returns what takes it away again.
 */
export async function buildStoreThread(): Promise<() => void> {
  // Not in the clone: whoever runs a test may not write there.
  const folder = mkdtempSync(join(tmpdir(), 'exodesk-store-thread-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    ssr: { noExternal: true, external: ['better-sqlite3'] },
    build: {
      outDir: folder,
      emptyOutDir: false,
      ssr: true,
      minify: false,
      rolldownOptions: {
        external: ['better-sqlite3', ...builtinModules, /^node:/],
        checks: { bundlerTimings: false },
        input: { writer: join(root, 'kernel/store/writer.ts') },
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  })
  process.env.EXODESK_STORE_THREAD = join(folder, 'writer.cjs')
  return () => rmSync(folder, { recursive: true, force: true })
}

/** For vitest's `globalSetup`. */
export default buildStoreThread
