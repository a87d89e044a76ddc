import { execFileSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import type { RunOptions, RunOutput, SandboxProvider, StandingSandbox } from '../sandbox.ts'
import { standingSandboxes } from './standing.ts'

const canary = 'canary-5f1c9e'

export interface StandingUnderTest {
  provider: SandboxProvider
  boxesDir: string
  /** False where memory is limited per process: then the allocation fails, and no limit kills. */
  knowsOutOfMemory: boolean
}

/** The promises of `StandingSandbox`, whatever provider its box is of. */
export function describeStanding(name: string, make: () => Promise<StandingUnderTest>): void {
  describe(name, () => {
    let under: StandingUnderTest
    let sandbox: StandingSandbox
    let root: string
    let baseline: number

    beforeAll(async () => {
      Object.assign(process.env, { SSH_AUTH_SOCK: canary, AWS_SECRET_ACCESS_KEY: canary })
      under = await make()
      root = join(under.boxesDir, 'standing')
      await mkdir(root)
      const source = await readFile(new URL('./server.ts', import.meta.url), 'utf8')
      const place = { profile: 'task', label: 'T-1', mounts: { root } } as const
      await under.provider.open({ label: 'T-1', mounts: { root } })
      sandbox = standingSandboxes({ provider: under.provider, clock: systemClock, source })(place)
      baseline = await pids()
    })
    afterAll(async () => {
      await sandbox?.close()
      await under?.provider.close()
      delete process.env.SSH_AUTH_SOCK
      delete process.env.AWS_SECRET_ACCESS_KEY
    })

    const run = (command: string, options: RunOptions & { timeoutMs?: number } = {}): Promise<RunOutput> =>
      sandbox.run({ command, cwd: '/task', timeoutMs: options.timeoutMs ?? 45_000 }, options)
    const text = async (command: string, options?: RunOptions) => (await run(command, options)).stdout.toString('utf8')
    /** Processes of the box beside the one that counts. Needs no fork: the shell's own globbing. */
    const pids = async () => Number(await text('set -- /proc/[0-9]*; echo $#'))
    const job = async (command: string) => {
      const seen = { stdout: '', stderr: '' }
      const keep = (stream: 'stdout' | 'stderr') => (chunk: Buffer) => {
        seen[stream] += chunk.toString('utf8')
        return undefined
      }
      const running = await sandbox.start({ command, cwd: '/task' }, { stdout: keep('stdout'), stderr: keep('stderr') })
      return { ...running, seen }
    }

    it('runs a command, feeds it, and keeps its streams and exit code apart', async () => {
      const output = await run('cat; echo told >&2; exit 7', { stdin: 'asked' })
      expect(output).toMatchObject({ exitCode: 7, signal: null, timedOut: false, outOfMemory: false })
      expect([output.stdout.toString(), output.stderr.toString()]).toEqual(['asked', 'told\n'])
      expect(await text('cat | wc -c', { stdin: Buffer.alloc(900_000, 'x') })).toBe('900000\n')
    })

    it('keeps what commands change, sees the box as a fresh one would, and gives streams that a shell can open by name', async () => {
      await run('echo kept > /task/file')
      expect(await text('cat /task/file; pwd; echo "$HOME"; id -u')).toBe('kept\n/task\n/home/agent\n65534\n')
      const output = await run('echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin', { stdin: 'in' })
      expect([output.stdout.toString(), output.stderr.toString()]).toEqual(['out\nin', 'err\n'])
    })

    it('[S11] [C12] shows commands nothing of what the kernel was started with: agents, keys, home, open files', async () => {
      // The control: who is started with it sees it.
      expect(execFileSync('sh', ['-c', 'echo $SSH_AUTH_SOCK'], { encoding: 'utf8' }).trim()).toBe(canary)
      const look =
        'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; ls -la ~ /proc/self/fd; ls -d ~/.aws ~/.ssh ~/.gitconfig 2>&1'
      const seen = await text(look)
      expect(seen).toMatch(/HOME=\/home\/agent/)
      expect(seen).not.toContain(canary)
      expect(seen.match(/No such file/g)).toHaveLength(3)
    })

    it('hands over bytes as they are: NUL and what is no UTF-8', async () => {
      const { stdout } = await run(String.raw`printf 'a\0b\377\376'`)
      expect([...stdout]).toEqual([97, 0, 98, 255, 254])
    })

    it('refuses a folder that is not there, and a command that is too long, and goes on', async () => {
      const at = (cwd: string) => sandbox.run({ command: 'true', cwd })
      await expect(at('/nowhere')).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(/does not exist/),
      })
      await expect(at('/etc/passwd')).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(/not a folder/),
      })
      await expect(run(`: ${'x'.repeat(140_000)}`)).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(/too long/),
      })
      expect(await text('echo on')).toBe('on\n')
    })

    it('[X11] ends with a command what it leaves behind: background, setsid, double fork, without the mark', async () => {
      const sleep = 'sleep 1000 >/dev/null 2>&1 &'
      const left = `${sleep} setsid ${sleep} (setsid sh -c '${sleep} ${sleep}' &) ; setsid env -i ${sleep} trap '' TERM; ${sleep} echo $$`
      await run(left)
      expect(await pids()).toBe(baseline)
      // The control: while a command runs, its processes do.
      const running = await job('setsid sleep 1000 & sleep 1000 & echo up; wait')
      await until(() => running.seen.stdout === 'up\n')
      expect(await pids()).toBeGreaterThan(baseline)
      running.kill()
      expect(await running.ended).toMatchObject({ wasKilled: true, signal: 'SIGKILL' })
      expect(await pids()).toBe(baseline)
    })

    it('lets what a running command put aside go on while others come and go', async () => {
      const running = await job(
        '(setsid sh -c "while :; do date +%N > /task/beat; sleep 0.01; done" &); echo up; sleep 1000',
      )
      await until(() => running.seen.stdout === 'up\n')
      await run('sleep 1000 & true')
      const beats =
        'a=$(cat beat); for n in $(seq 500); do b=$(cat beat); [ -n "$b" ] && [ "$a" != "$b" ] && echo on && exit; sleep 0.02; done'
      expect(await text(beats)).toBe('on\n')
      running.kill()
      await running.ended
      expect(await pids()).toBe(baseline)
    })

    it('kills the whole tree at the time limit and says so', async () => {
      const output = await run('setsid sleep 1000 & echo begun; sleep 1000', { timeoutMs: 300 })
      expect(output).toMatchObject({ timedOut: true, signal: 'SIGKILL', exitCode: null })
      expect(output.stdout.toString()).toBe('begun\n')
      expect(await pids()).toBe(baseline)
    })

    it('cancels a command, before and while it goes', async () => {
      await expect(run('true', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' })
      const controller = new AbortController()
      const going = run('sleep 1000 & sleep 1000', { signal: controller.signal })
      controller.abort()
      await expect(going).rejects.toMatchObject({ code: 'cancelled' })
      expect(await pids()).toBe(baseline)
    })

    it('[X6] keeps output up to the cap, and kills a command that floods both streams, without growing itself', async () => {
      const cap = 8 * 1024 * 1024
      const flood = 'head -c 1073741824 /dev/zero >&2 & head -c 1073741824 /dev/zero; wait'
      await run('true')
      const before = process.memoryUsage.rss()
      let peak = before
      const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
      const output = await run(flood, { outputBytes: cap })
      clearInterval(watch)
      expect(output).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: false })
      // The first to run away ends both: of each, all that it had written by then is kept, up to the cap.
      const { stdout, stderr, stdoutBytes, stderrBytes } = output
      expect([stdout.length, stderr.length]).toEqual([stdoutBytes, stderrBytes].map((bytes) => Math.min(cap, bytes)))
      expect(Math.max(stdoutBytes, stderrBytes)).toBeGreaterThan(8 * cap)
      expect(peak - before).toBeLessThan(50 * 1024 * 1024)
      const alone = await run('head -c 1073741824 /dev/zero', { outputBytes: cap })
      expect([alone.stdout.length, alone.signal]).toEqual([cap, 'SIGKILL'])
      // The control: what stays below is kept whole.
      expect((await run('head -c 3000000 /dev/zero', { outputBytes: cap })).stdout.length).toBe(3_000_000)
      expect(await pids()).toBe(baseline)
    }, 120_000)

    it('brings every byte of an output that is longer than what is granted at once, each time', async () => {
      for (let n = 0; n < 25; n += 1) {
        const output = await run('head -c 3000000 /dev/zero', { outputBytes: 4_000_000 })
        expect([n, output.stdout.length, output.stdoutBytes]).toEqual([n, 3_000_000, 3_000_000])
      }
    })

    it('makes a command wait whose output is not taken', async () => {
      let take: () => void = () => {}
      const gate = new Promise<void>((resolve) => (take = resolve))
      let taken = 0
      const running = await sandbox.start(
        { command: 'head -c 8000000 /dev/zero; echo done > /task/flooded', cwd: '/task' },
        {
          stdout: (chunk) => {
            taken += chunk.length
            return gate
          },
          stderr: () => undefined,
        },
      )
      await until(() => taken >= 256 * 1024)
      expect(await text('ls /task/flooded 2>/dev/null')).toBe('')
      take()
      expect(await running.ended).toMatchObject({ exitCode: 0 })
      expect(taken).toBe(8_000_000)
    })

    it('[X3] outlives a fork bomb: it ends at its time limit and leaves nothing', async () => {
      const bomb = 'f() { f & f & }; for n in 1 2 3 4; do f & done 2>/dev/null; sleep 1000'
      const output = await run(bomb, { timeoutMs: 2_000 })
      expect(output.timedOut).toBe(true)
      expect(await pids()).toBe(baseline)
    }, 120_000)

    it('[X4] [F14] ends the command that wants more memory than there is, says why, and serves the others', async () => {
      const other = await job('echo up; sleep 1000')
      await until(() => other.seen.stdout === 'up\n')
      const output = await run(
        `/exodesk/bin/node --max-old-space-size=8000 -e "const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))"`,
      )
      expect(output.exitCode === 0).toBe(false)
      if (under.knowsOutOfMemory) expect(output.outOfMemory).toBe(true)
      // A command that merely is killed is not taken for one.
      expect((await run('kill -9 $$')).outOfMemory).toBe(false)
      expect(await text('echo on')).toBe('on\n')
      other.kill()
      expect(await other.ended).toMatchObject({ wasKilled: true, outOfMemory: false })
    }, 120_000)

    it('says that the effect is not known where the server was killed, and starts it anew', async () => {
      const other = await job('sleep 1000')
      await expect(run('kill -9 $PPID; sleep 1000')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/command server ended.*not known/),
      })
      await expect(other.ended).rejects.toMatchObject({ code: 'unavailable' })
      expect(await text('cat /task/file')).toBe('kept\n')
      expect(await pids()).toBe(baseline)
    })

    it('is stopped with its label, and ends with it', async () => {
      const running = await job('while :; do date +%N; sleep 0.01; done')
      await until(() => running.seen.stdout !== '')
      const frozen = await under.provider.freeze('T-1')
      let isDone = false
      const waiting = run('echo went on').then(({ stdout }) => {
        isDone = true
        return stdout.toString('utf8')
      })
      const seen = running.seen.stdout
      await new Promise((resolve) => setTimeout(resolve, 300))
      // What was on its way when it stopped may still arrive, but no more than a pipe holds.
      expect([isDone, running.seen.stdout.length - seen.length < 70_000]).toEqual([false, true])
      await frozen.thaw()
      expect(await waiting).toBe('went on\n')
      await under.provider.killAll('T-1')
      await expect(running.ended).rejects.toMatchObject({ code: 'unavailable' })
      expect(await text('echo again')).toBe('again\n')
    })
  })
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}
