import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { RunOutput } from '../../sandbox/sandbox.ts'
import { draft, type EventData } from '../../wire/events.ts'
import type { SandboxExecResult } from '../../wire/executor.ts'
import type { InboundCall, Methods } from '../channel.ts'
import type { Running } from '../running.ts'
import { excerpt, headOf } from '../text.ts'
import { channelLimits } from '../timings.ts'
import { countStored, hasRoom } from './stored.ts'

const keptBytes = 16 * 1024 * 1024
const whatBytes = 2048
/** As the sandbox ends a command that writes without end. */
const runawayBytes = 64 * 1024 * 1024
/** bash where the sandbox has one, else sh; the command is an argument and never part of this text. */
const shell = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$0"; else exec sh -c "$0"; fi'

type Executed = EventData<'sandbox.executed'>

export function sandboxMethods(
  running: Running,
): Pick<
  Methods,
  | 'sandbox.exec'
  | 'sandbox.read'
  | 'sandbox.write'
  | 'sandbox.list'
  | 'sandbox.jobs'
  | 'sandbox.logs'
  | 'sandbox.kill'
  | 'sandbox.snapshot'
  | 'sandbox.restore'
  | 'sandbox.snapshots'
> {
  const { files, history, provider } = running.parts
  const { box } = running.spec.task
  const { workdir: cwd, ...where } = box
  const place = { ...where, profile: 'task', cwd } as const
  let commands = 0

  /** Does one operation and records it under the tool call that it belongs to, however it ends. */
  async function recorded<T>(
    call: InboundCall,
    op: Executed['op'],
    what: string,
    operation: () => Promise<T>,
    facts: (result: T) => Partial<Executed>,
  ): Promise<T> {
    const owner = running.memory.calls.ownerOf(what)
    call.what = `${owner?.name ?? op}: ${headOf(what, 200)}`
    const header = running.place('kernel')
    const from = running.parts.clock.monotonic()
    let found: Partial<Executed> = {}
    try {
      const result = await operation()
      found = facts(result)
      return result
    } finally {
      running.memory.calls.used(owner?.call ?? null, from)
      const event: Executed = {
        op,
        what: headOf(what, whatBytes),
        call: owner?.call ?? null,
        exitCode: null,
        timedOut: false,
        bytes: 0,
        durationMs: running.parts.clock.monotonic() - from,
        ...found,
      }
      await history.append([draft('sandbox.executed', event, header)])
    }
  }

  return {
    async 'sandbox.exec'({ command, cwd, timeoutMs = 120_000, stdin, outputBytes = 16_384 }, call) {
      if (commands >= channelLimits.commands) {
        throw new KernelError('unavailable', `${commands} commands run already; wait for one to end`)
      }
      commands += 1
      try {
        failpoint('tool:before-exec')
        const output = await recorded(
          call,
          'exec',
          command,
          () =>
            provider.run(
              { ...place, argv: ['/bin/sh', '-c', shell, command], cwd: cwd ?? box.workdir, timeoutMs },
              { stdin: stdin ?? '', outputBytes: keptBytes, signal: call.signal },
            ),
          (ended) => ({
            exitCode: ended.exitCode,
            timedOut: ended.timedOut,
            bytes: ended.stdoutBytes + ended.stderrBytes,
          }),
        )
        const stdout = await shown(running, output.stdout, output.stdoutBytes, outputBytes)
        const stderr = await shown(running, output.stderr, output.stderrBytes, outputBytes)
        const result: SandboxExecResult = {
          exitCode: output.exitCode,
          signal: output.signal,
          timedOut: output.timedOut,
          stdout: stdout.text,
          stderr: stderr.text + endNote(output),
          stdoutBytes: output.stdoutBytes,
          stderrBytes: output.stderrBytes,
          durationMs: output.durationMs,
        }
        if (stdout.blob !== null) result.stdoutBlob = stdout.blob
        if (stderr.blob !== null) result.stderrBlob = stderr.blob
        return result
      } finally {
        commands -= 1
      }
    },
    'sandbox.read': ({ path, offset, length }, call) =>
      recorded(
        call,
        'read',
        path,
        () => files.readFile(provider, place, path, offset, length),
        (result) => ({ bytes: Buffer.byteLength(result.text) }),
      ),
    'sandbox.write': ({ path, text, expect }, call) =>
      recorded(
        call,
        'write',
        path,
        () => files.writeFile(provider, place, path, text, expect),
        () => ({ bytes: Buffer.byteLength(text) }),
      ),
    'sandbox.list': ({ path }, call) =>
      recorded(
        call,
        'list',
        path,
        () => files.list(provider, place, path),
        (result) => ({ bytes: result.entries.length }),
      ),
    'sandbox.jobs': refuseJobs,
    'sandbox.logs': refuseJobs,
    'sandbox.kill': refuseJobs,
    'sandbox.snapshot': refuseSnapshots,
    'sandbox.restore': refuseSnapshots,
    'sandbox.snapshots': refuseSnapshots,
  }
}

/** Why a command was killed, where neither its exit code nor a time limit says so. */
function endNote({ outOfMemory, signal, timedOut, stdoutBytes, stderrBytes }: RunOutput): string {
  if (outOfMemory) return '\n[killed: it reached the memory limit of the sandbox]\n'
  const isRunaway = signal === 'SIGKILL' && !timedOut && Math.max(stdoutBytes, stderrBytes) > runawayBytes
  return isRunaway ? '\n[killed: it wrote more than 64 MiB; send long output to a file]\n' : ''
}

/** Output as the executor sees it, and where all of it is when that is not all. */
async function shown(
  running: Running,
  kept: Buffer,
  totalBytes: number,
  limit: number,
): Promise<{ text: string; blob: string | null }> {
  let cut = excerpt(kept, totalBytes, limit)
  // Control characters take six bytes in JSON: two outputs must fit into one frame all the same.
  for (let bytes = limit; Buffer.byteLength(JSON.stringify(cut.text)) > channelLimits.answerBytes / 2; ) {
    bytes = Math.floor(Math.min(bytes, kept.length) / 2)
    cut = excerpt(kept, totalBytes, bytes)
  }
  // What is done cannot be undone for want of room: the output is shown as far as it goes.
  if (!cut.isCut || !hasRoom(running, kept.length)) return { text: cut.text, blob: null }
  countStored(running, kept.length)
  const { history } = running.parts
  const blob = await history.putBlob(kept)
  await history.grantBlob(running.spec.agent, blob)
  return { text: cut.text, blob }
}

async function refuseSnapshots(): Promise<never> {
  throw new KernelError('unavailable', 'this host has no snapshots of the task sandbox; copy the files that you need')
}

async function refuseJobs(): Promise<never> {
  throw new KernelError('unavailable', 'this host has no background jobs')
}
