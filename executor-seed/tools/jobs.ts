import type { SandboxJob } from '#wire'
import type { Tool } from '../tool.ts'

/** Of each output, from its end. */
const SHOWN_BYTES = 3_000

export const tool: Tool<{ job?: string; wait_s?: number; kill?: boolean }> = {
  name: 'jobs',
  description: 'Background jobs: list, show output of one, kill it.',
  properties: { job: { type: 'string' }, wait_s: { type: 'integer' }, kill: { type: 'boolean' } },
  required: [],
  async run(args, kernel) {
    const { job } = args
    if (job === undefined) {
      const { jobs } = await kernel.call('sandbox.jobs', {})
      const line = (one: SandboxJob) => `${stateOf(one)} $ ${one.command.replaceAll(/\s+/g, ' ').slice(0, 120)}`
      return jobs.length === 0 ? 'no jobs' : jobs.map(line).join('\n')
    }
    if (args.kill === true) await kernel.call('sandbox.kill', { job })
    const tail = { job, offset: -SHOWN_BYTES, length: SHOWN_BYTES }
    const waitMs = Math.min((args.wait_s ?? 0) * 1000, 60_000)
    const out = await kernel.call('sandbox.logs', { ...tail, waitMs })
    const errors = await kernel.call('sandbox.logs', { ...tail, stream: 'stderr' })
    const shown = Object.entries({ stdout: out, stderr: errors }).filter(([, { text }]) => text !== '')
    const parts = shown.map(([name, { text, from }]) => `[${name} from byte ${from}]\n${text.trimEnd()}`)
    return [stateOf(errors), ...parts].join('\n')
  },
}

function stateOf({ job, state, ending, exitCode, signal, durationMs }: SandboxJob): string {
  const how = ending === 'exited' ? (signal ?? `exit code ${exitCode}`) : ending
  return `${job}: ${state === 'running' ? 'running' : `ended (${how})`}, ${Math.round(durationMs / 1000)} s`
}
