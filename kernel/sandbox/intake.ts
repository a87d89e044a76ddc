import { PassThrough, type Readable } from 'node:stream'
import { pack } from 'tar-stream'
import { KernelError } from '../errors.ts'
import type { IntakeResult, SandboxProvider, TreeFile } from './sandbox.ts'
import { escapePath, readTree } from './tree.ts'

const timeoutMs = 30_000

/**
 * Reads a working copy as one consistent tree: the label's boxes are stopped, the folder is read through a fresh box
 * that sees it read-only, and the boxes go on, whatever happened. The host never opens a path of the folder.
 *
 * @throws KernelError `unavailable` where the boxes cannot be stopped or no box can be had.
 */
export async function intakePolicy(
  provider: SandboxProvider,
  what: { label: string; policyDir: string },
): Promise<IntakeResult> {
  const frozen = await provider.freeze(what.label)
  try {
    return await readFrozen(provider, what)
  } finally {
    await frozen.thaw()
  }
}

async function readFrozen(
  provider: SandboxProvider,
  { label, policyDir }: { label: string; policyDir: string },
): Promise<IntakeResult> {
  const box = await provider.start({
    profile: 'check',
    label: `${label}.intake`,
    mounts: { policy: policyDir },
    // Never opens a named pipe; a socket it leaves out with a warning, which counts as a problem below.
    argv: ['tar', '--create', '--file=-', '--format=pax', '--directory=/policy', '--sort=name', '.'],
    env: { LANG: 'C', LC_ALL: 'C' },
    timeoutMs,
  })
  try {
    box.stdin.end()
    const warnings = keepText(box.stderr, 8192)
    const tar = new PassThrough()
    if (box.stdout.closed) tar.end()
    else box.stdout.pipe(tar)
    const result = await readTree(tar)
    // The reader stops early at what it refuses; then tar is still writing.
    if (!result.ok) return result
    const exit = await box.exited
    const text = (await warnings).trim()
    if (exit.timedOut) return refused(`reading it took longer than ${timeoutMs / 1000} s`)
    if (exit.exitCode !== 0 || text !== '') {
      return refused(escapePath(text.split('\n').slice(0, 3).join('; ') || `tar ended with ${exit.exitCode}`))
    }
    return result
  } finally {
    await box.kill()
  }
}

function refused(problem: string): IntakeResult {
  return { ok: false, problems: [{ path: '.', problem }] }
}

function keepText(stream: Readable, cap: number): Promise<string> {
  let text = ''
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      if (text.length < cap) text += chunk.toString('latin1')
    })
    stream.on('error', () => {})
    stream.on('close', () => resolve(text))
    if (stream.closed) resolve(text)
  })
}

/**
 * Makes `/policy` hold exactly these files: what was there is removed. Done inside a box that sees this folder and
 * nothing else, so that no link an agent planted leads the kernel anywhere.
 *
 * @param what.kernelFiles written beside the tree; ignored at intake.
 * @throws KernelError `unavailable` where it could not be done; the folder may then be half laid.
 */
export async function layPolicy(
  provider: SandboxProvider,
  what: { label: string; policyDir: string; files: readonly TreeFile[]; kernelFiles?: readonly TreeFile[] },
): Promise<void> {
  const archive = await packTree([...what.files, ...(what.kernelFiles ?? [])])
  const output = await provider.run(
    {
      profile: 'task',
      label: `${what.label}.lay`,
      mounts: { policy: what.policyDir },
      argv: ['sh', '-c', layScript],
      timeoutMs,
    },
    { stdin: archive },
  )
  if (output.exitCode !== 0) {
    const reason = output.timedOut ? 'it took too long' : escapePath(output.stderr.toString('utf8').trim())
    throw new KernelError('unavailable', `/policy could not be laid: ${reason}`)
  }
}

// Neither chmod -R nor find -delete follows the links they meet.
const layScript = `set -e
chmod -R u+rwX /policy
find /policy -mindepth 1 -delete
exec tar --extract --file=- --directory=/policy --no-same-owner --no-same-permissions`

/** A tar of plain files, readable by all, writable by their owner. */
async function packTree(files: readonly TreeFile[]): Promise<Buffer> {
  const archive = pack()
  const chunks: Buffer[] = []
  const whole = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer)
  })()
  for (const { path, text } of files) archive.entry({ name: path, mode: 0o644, mtime: new Date(0) }, text)
  archive.finalize()
  await whole
  return Buffer.concat(chunks)
}
