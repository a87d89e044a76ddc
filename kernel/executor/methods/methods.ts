import type { KernelMethod } from '../../wire/executor.ts'
import type { InboundCall, Methods } from '../channel.ts'
import type { Running } from '../running.ts'
import { historyMethods } from './history.ts'
import { modelMethods } from './model.ts'
import { policyMethods } from './policy.ts'
import { reportMethods } from './report.ts'
import { sandboxMethods } from './sandbox.ts'
import { sandboxStateMethods } from './sandbox-state.ts'
import { storageMethods } from './storage.ts'
import { countRequest } from './stored.ts'
import { taskMethods } from './task.ts'

/** Reads, which change nothing: allowed between turns too. Everything else belongs to a turn. */
export const readMethods: ReadonlySet<KernelMethod> = new Set<KernelMethod>([
  'history.read',
  'history.query',
  'history.search',
  'report.usage',
  'artifact.get',
  'artifact.list',
  'artifact.versions',
  'blob.get',
  'policy.status',
  'policy.read',
  'policy.diff',
])

/**
 * All that an executor can ask for: complete mediation means that there is nothing besides.
 * Everything but reads belongs to a running turn: `requireTurn` throws where there is none, or where it is being ended.
 */
export function methodsOf(running: Running, requireTurn: () => void): Methods {
  const methods: Methods = {
    ...historyMethods(running),
    ...reportMethods(running),
    ...storageMethods(running),
    ...modelMethods(running),
    ...sandboxMethods(running),
    ...sandboxStateMethods(running),
    ...policyMethods(running),
    ...taskMethods(running),
  }
  const guarded = Object.entries(methods).map(([name, run]) => {
    if (readMethods.has(name as KernelMethod)) return [name, run]
    const handler = run as (params: unknown, call: InboundCall) => Promise<unknown>
    const inTurn = async (params: unknown, call: InboundCall): Promise<unknown> => {
      requireTurn()
      countRequest(running)
      return handler(params, call)
    }
    return [name, inTurn]
  })
  return Object.fromEntries(guarded) as Methods
}
