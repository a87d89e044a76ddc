import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KernelResources } from '../kernel/kernel.ts'

export interface Resources extends KernelResources {
  /** What Node runs to start the simulator. */
  simulator: string
}

/**
 * Where everything is that the kernel needs at run time. `here` is the folder of the running code: electron/ (from
 * source), dist/ (built) or app.asar/dist (installed, with what boxes mount beside the archive, as plain files).
 */
function findResources(here: string): Resources {
  const isInstalled = !existsSync(join(here, '../executor-seed'))
  const isSource = existsSync(join(here, 'main.ts'))
  const root = join(here, isInstalled ? '../..' : '..')
  const built = isInstalled ? join(root, 'app.asar.unpacked', 'dist') : here
  const exe = process.platform === 'win32' ? '.exe' : ''
  const platform = `${process.platform}-${process.arch}`
  const [node, compiler, types, wire, standing, facts] = (
    isInstalled
      ? ['node', 'typescript', 'types', 'wire', 'standing', 'facts']
      : [
          'node_modules/node/bin',
          `node_modules/@typescript/typescript-${platform}`,
          'node_modules',
          'kernel/wire',
          'kernel/sandbox/standing',
          'kernel/guardian/checks/facts',
        ]
  ).map((path) => join(root, path)) as [string, string, string, string, string, string]
  return {
    node: join(node, `node${exe}`),
    checker: [
      { host: compiler, at: '/exodesk/checker/typescript' },
      { host: join(types, '@types/node'), at: '/exodesk/checker/node_modules/@types/node' },
      { host: join(types, 'undici-types'), at: '/exodesk/checker/node_modules/undici-types' },
      { host: facts, at: '/exodesk/checker/facts' },
      { host: join(types, 'oxc-parser'), at: '/exodesk/checker/node_modules/oxc-parser' },
      { host: join(types, '@oxc-parser'), at: '/exodesk/checker/node_modules/@oxc-parser' },
    ],
    ...(isSource ? {} : { writer: join(built, 'writer.cjs') }),
    seed: join(root, 'executor-seed'),
    wire: join(wire, 'executor.ts'),
    commandServer: join(standing, 'server.ts'),
    packsRoot: root,
    packs: join(root, 'tasks'),
    simulator: isSource ? join(root, 'simulator/main.ts') : join(built, 'simulator.mjs'),
  }
}

/** What ships beside this code. */
export function hostResources(): Resources {
  return findResources(import.meta.dirname)
}

declare const __EXODESK_CONTRACT__: string | undefined

/** Names the operator contract that this was built with; null where it runs from source. */
export function contract(): string | null {
  return typeof __EXODESK_CONTRACT__ === 'undefined' ? null : __EXODESK_CONTRACT__
}

export function version(): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version
}
