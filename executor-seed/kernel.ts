import { resolve } from 'node:path/posix'
import type { ExecutorToKernel, KernelMethod, SandboxExecResult, TaskBrief } from '#wire'
import type { Wire } from './wire.ts'

/** What tools and the loop may ask of the kernel. Every effect outside this process goes through here. */
export class Kernel {
  readonly task: TaskBrief
  /** True once the kernel has accepted `task.complete`. */
  completed = false
  readonly #wire: Pick<Wire, 'call'>

  constructor(task: TaskBrief, wire: Pick<Wire, 'call'>) {
    this.task = task
    this.#wire = wire
  }

  /** @throws WireError with the kernel's code. */
  async call<M extends KernelMethod>(
    method: M,
    params: ExecutorToKernel[M]['params'],
  ): Promise<ExecutorToKernel[M]['result']> {
    const result = await this.#wire.call(method, params)
    if (method === 'task.complete' && (result as ExecutorToKernel['task.complete']['result']).accepted) {
      this.completed = true
    }
    return result
  }

  /** Runs a command in the task sandbox and gives its output as the model sees it: see `commandOutput`. */
  async exec(command: string, options: { timeoutMs?: number; stdin?: string } = {}): Promise<string> {
    return commandOutput(await this.call('sandbox.exec', { command, outputBytes: 65_536, ...options }))
  }

  /** An absolute path in the task sandbox; relative ones start at the task's working directory. */
  path(path: string): string {
    return resolve(this.task.workdir, path)
  }
}

/** A command that did not exit with 0 begins with `error:`, which is how the kernel counts it as one. */
function commandOutput(result: SandboxExecResult): string {
  const parts: string[] = []
  if (result.timedOut) parts.push(`error: stopped after ${Math.round(result.durationMs / 1000)} s`)
  else if (result.signal !== null) parts.push(`error: ended by ${result.signal}`)
  else if (result.exitCode !== 0) parts.push(`error: exit code ${result.exitCode}`)
  if (result.stdout !== '') parts.push(result.stdout.trimEnd())
  if (result.stdoutBlob !== undefined) parts.push(`[all ${result.stdoutBytes} bytes: read blob:${result.stdoutBlob}]`)
  if (result.stderr !== '') parts.push(`[stderr]\n${result.stderr.trimEnd()}`)
  if (result.stderrBlob !== undefined) parts.push(`[all ${result.stderrBytes} bytes: read blob:${result.stderrBlob}]`)
  return parts.join('\n')
}
