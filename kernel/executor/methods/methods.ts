import { KernelError } from '../../errors.ts'
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

/** What an executor's loop does of its own beside the calls that are open, and a model call, which looks for itself. */
const loopsOwn: ReadonlySet<KernelMethod> = new Set<KernelMethod>(['history.append', 'blob.put', 'model.call'])

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
    const method = name as KernelMethod
    if (readMethods.has(method)) return [name, run]
    const handler = run as (params: unknown, call: InboundCall) => Promise<unknown>
    const inTurn = async (params: unknown, call: InboundCall): Promise<unknown> => {
      requireTurn()
      countRequest(running)
      if (!loopsOwn.has(method)) await requireFree(running, method, params)
      return handler(params, call)
    }
    return [name, inTurn]
  })
  return Object.fromEntries(guarded) as Methods
}

/** @throws KernelError `forbidden` for what a call of a tool in quarantine asks for. */
async function requireFree(running: Running, method: KernelMethod, params: unknown): Promise<void> {
  const { command, path, name, job, summary, question } = params as Record<string, unknown>
  const what = command ?? path ?? name ?? job ?? summary ?? question
  const quarantined = await running.parts.quarantine.of(running.spec.agent)
  const refusal = running.memory.calls.begins(method, typeof what === 'string' ? what : '', quarantined)
  if (refusal !== null) throw new KernelError('forbidden', refusal.replace(/^error: forbidden: /, ''))
}
