import type { SandboxJob } from '#wire'
import type { Kernel } from '../kernel.ts'
import type { Tool } from '../tool.ts'

/** Of each output, from its end. */
const SHOWN_BYTES = 3_000
const WAIT_MS_MAX = 60_000

export const tool: Tool<{ job?: string; wait_s?: number; kill?: boolean }> = {
  name: 'jobs',
  description: 'Background jobs: list, show output of one, kill it.',
  properties: { job: { type: 'string' }, wait_s: { type: 'integer' }, kill: { type: 'boolean' } },
  required: [],
  async run(args, kernel) {
    if (args.job === undefined) {
      const { jobs } = await kernel.call('sandbox.jobs', {})
      return jobs.length === 0 ? 'no jobs' : jobs.map((job) => `${stateOf(job)} $ ${oneLine(job.command)}`).join('\n')
    }
    if (args.kill === true) await kernel.call('sandbox.kill', { job: args.job })
    return output(args.job, Math.min((args.wait_s ?? 0) * 1000, WAIT_MS_MAX), kernel)
  },
}

async function output(job: string, waitMs: number, kernel: Kernel): Promise<string> {
  const tail = { job, offset: -SHOWN_BYTES, length: SHOWN_BYTES }
  const out = await kernel.call('sandbox.logs', { ...tail, waitMs })
  const errors = await kernel.call('sandbox.logs', { ...tail, stream: 'stderr' })
  const parts = [stateOf(errors)]
  for (const [name, { text, from }] of [
    ['stdout', out],
    ['stderr', errors],
  ] as const) {
    if (text !== '') parts.push(`[${name}${from > 0 ? ` after ${from} bytes` : ''}]\n${text.trimEnd()}`)
  }
  return parts.join('\n')
}

function stateOf({ job, state, ending, exitCode, signal, durationMs }: SandboxJob): string {
  const seconds = `${Math.round(durationMs / 1000)} s`
  if (state === 'running') return `${job}: running for ${seconds}`
  const how = ending === 'exited' ? (signal ?? `exit code ${exitCode}`) : ending
  return `${job}: ended (${how}) after ${seconds}`
}

function oneLine(command: string): string {
  return command.replaceAll(/\s+/g, ' ').slice(0, 120)
}
