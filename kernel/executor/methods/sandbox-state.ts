import type { Methods } from '../channel.ts'
import type { Running } from '../running.ts'
import { channelLimits } from '../timings.ts'
import { recorded } from './recorded.ts'

/** What a task sandbox keeps beyond one command: background jobs and snapshots. */
export function sandboxStateMethods(
  running: Running,
): Pick<
  Methods,
  'sandbox.jobs' | 'sandbox.logs' | 'sandbox.kill' | 'sandbox.snapshot' | 'sandbox.restore' | 'sandbox.snapshots'
> {
  const { sandbox } = running.spec.task
  return {
    'sandbox.jobs': async () => ({ jobs: sandbox.jobs() }),
    async 'sandbox.logs'(params, call) {
      call.what = `waiting for ${params.job}`
      const logs = await sandbox.logs(params, call.signal)
      // Control characters take six bytes in JSON: the answer must fit into one frame all the same.
      let { text, to } = logs
      while (Buffer.byteLength(JSON.stringify(text)) > channelLimits.answerBytes) {
        const { from } = logs
        const half = await sandbox.logs(
          { ...params, offset: from, length: Math.floor((to - from) / 2), waitMs: 0 },
          call.signal,
        )
        text = half.text
        to = half.to
      }
      return { ...logs, text, to }
    },
    'sandbox.kill': ({ job }, call) =>
      recorded(
        running,
        call,
        'kill',
        job,
        () => sandbox.killJob(job),
        () => ({}),
      ),
    async 'sandbox.snapshot'({ name }, call) {
      call.what = `snapshot ${name}`
      return sandbox.snapshot(name, running.place('executor'))
    },
    async 'sandbox.restore'({ name }, call) {
      call.what = `restore ${name}`
      await sandbox.restore(name, running.place('executor'))
      return {}
    },
    'sandbox.snapshots': async () => ({ snapshots: await sandbox.snapshots() }),
  }
}
