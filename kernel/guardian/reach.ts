import { KernelError } from '../errors.ts'
import type { SandboxProvider, TreeFile } from '../sandbox/sandbox.ts'
import type { CapabilityKind } from '../wire/operator-checks.ts'
import { readFacts } from './checks/reading.ts'

/** Of one file: the files of its tree that it loads, as it names them, and what it reaches for beyond itself. */
export interface Reach {
  imports: readonly string[]
  reaches: readonly string[]
}

/** What tells of a tool by what it can do, not by what it says or how it is written. */
const kinds: ReadonlySet<CapabilityKind> = new Set([
  ...(['network', 'process-start', 'code-loading', 'filesystem', 'process', 'inspector', 'wire', 'exec'] as const),
])

/**
 * By the syntax tree, in a check box, file by file in their order. Null: no box is to be had, or a file brings the reader down.
 */
export async function reachOf(provider: SandboxProvider, files: readonly TreeFile[]): Promise<Reach[] | null> {
  try {
    const reading = await readFacts(provider, 'reach', files, new AbortController().signal)
    if (!reading.ok) return null
    return reading.facts.map(({ imports, capabilities }) => {
      const reaches = capabilities.filter(({ kind }) => kinds.has(kind)).map(({ what }) => what)
      return { imports, reaches: [...new Set(reaches.map(methodOf))].sort() }
    })
  } catch (error) {
    if (error instanceof KernelError && error.code === 'unavailable') return null
    throw error
  }
}

/** The client's `exec` is the wire's. */
const methodOf = (what: string): string => (what === 'kernel.exec' ? 'sandbox.exec' : what)
