import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { RunOutput } from '../../sandbox/sandbox.ts'
import type { SandboxExecParams, SandboxExecResult } from '../../wire/executor.ts'
import type { InboundCall, Methods } from '../channel.ts'
import type { Running, SandboxFiles } from '../running.ts'
import { excerpt } from '../text.ts'
import { channelLimits } from '../timings.ts'
import { recorded } from './recorded.ts'
import { countStored, hasRoom } from './stored.ts'

const keptBytes = 8 * 1024 * 1024
const foregroundMaxMs = 3_600_000
/** As the sandbox ends a command that writes without end. */
const runawayBytes = 64 * 1024 * 1024
export function sandboxMethods(
  running: Running,
): Pick<Methods, 'sandbox.exec' | 'sandbox.read' | 'sandbox.write' | 'sandbox.list'> {
  const { files } = running.parts
  const { box, sandbox } = running.spec.task
  const place = { profile: 'task', label: box.label, mounts: box.mounts, cwd: box.workdir } as const
  // Files are reached by commands in the same box, so that a link leads no further than a command of the agent's.
  const runner: Parameters<SandboxFiles['list']>[0] = {
    run: ({ argv, timeoutMs = 30_000, cwd = '/' }, options) => sandbox.run({ argv, cwd, timeoutMs }, options),
  }
  let commands = 0

  async function inBackground(params: SandboxExecParams, call: InboundCall): Promise<SandboxExecResult> {
    const { command, cwd = box.workdir, timeoutMs, stdin } = params
    const job = await recorded(
      running,
      call,
      'start',
      command,
      (owner) => {
        const spec = { command, cwd, ...(timeoutMs && { timeoutMs }), ...(stdin !== undefined && { stdin }) }
        return sandbox.startJob(spec, owner, running.place('kernel'))
      },
      () => ({}),
    )
    const nothing = { exitCode: null, signal: null, timedOut: false, stdout: '', stderr: '' }
    return { ...nothing, stdoutBytes: 0, stderrBytes: 0, durationMs: 0, job }
  }

  async function inForeground(params: SandboxExecParams, call: InboundCall): Promise<SandboxExecResult> {
    const { command, cwd = box.workdir, timeoutMs = 120_000, stdin = '', outputBytes = 16_384 } = params
    if (timeoutMs > foregroundMaxMs)
      throw new KernelError('invalid', `timeoutMs: at most ${foregroundMaxMs}; run longer commands in the background`)
    const output = await recorded(
      running,
      call,
      'exec',
      command,
      () => sandbox.run({ command, cwd, timeoutMs }, { stdin, outputBytes: keptBytes, signal: call.signal }),
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
  }

  return {
    async 'sandbox.exec'(params, call) {
      if (commands >= channelLimits.commands) {
        throw new KernelError('unavailable', `${commands} commands run already; wait for one to end`)
      }
      commands += 1
      try {
        failpoint('tool:before-exec')
        return await (params.background === true ? inBackground(params, call) : inForeground(params, call))
      } finally {
        commands -= 1
      }
    },
    'sandbox.read': ({ path, offset, length }, call) =>
      recorded(
        running,
        call,
        'read',
        path,
        () => files.readFile(runner, place, path, offset, length),
        (result) => ({ bytes: Buffer.byteLength(result.text) }),
      ),
    'sandbox.write': ({ path, text, expect }, call) =>
      recorded(
        running,
        call,
        'write',
        path,
        () => files.writeFile(runner, place, path, text, expect),
        () => ({ bytes: Buffer.byteLength(text) }),
      ),
    'sandbox.list': ({ path }, call) =>
      recorded(
        running,
        call,
        'list',
        path,
        () => files.list(runner, place, path),
        (result) => ({ bytes: result.entries.length }),
      ),
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
