// Long because: one contract, which every provider of boxes must hold to.
import { mkdir, mkdtemp, readFile as readHostFile, symlink, writeFile as writeHostFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { list, readFile, writeFile } from './files.ts'
import { intakePolicy, layPolicy } from './intake.ts'
import { probeBoxes } from './probes.ts'
import type { BoxMounts, BoxSpec, ProfileName, SandboxProvider } from './sandbox.ts'

/** What a provider under test is made with: its check profile must have the small limits given here. */
export interface SandboxUnderTest {
  provider: SandboxProvider
  boxesDir: string
  /** False where memory is limited per process, so that nobody is told which limit ended it. */
  knowsOutOfMemory: boolean
}
export const contractLimits = { check: { memoryBytes: 300 * 1024 * 1024, pids: 48 } } as const

/** The promises of `sandbox.ts`, kept by every provider. */
export function describeSandbox(name: string, make: () => Promise<SandboxUnderTest>): void {
  describe(name, () => {
    let under: SandboxUnderTest
    let provider: SandboxProvider
    let folders = 0

    beforeAll(async () => {
      under = await make()
      provider = under.provider
    })
    afterAll(async () => {
      await provider?.close()
    })

    const folder = async (files: Record<string, string> = {}): Promise<string> => {
      folders += 1
      const path = join(under.boxesDir, `folder-${folders}`)
      await mkdir(path, { mode: 0o755 })
      for (const [file, text] of Object.entries(files)) await writeHostFile(join(path, file), text, { mode: 0o644 })
      return path
    }
    const spec = (profile: ProfileName, mounts: BoxMounts, script: string, label = `l${folders}`): BoxSpec => ({
      profile,
      label,
      mounts,
      argv: ['sh', '-c', script],
      timeoutMs: 45_000,
    })
    const sh = async (profile: ProfileName, mounts: BoxMounts, script: string, label?: string) => {
      const output = await provider.run(spec(profile, mounts, script, label))
      return { ...output, out: output.stdout.toString('utf8'), err: output.stderr.toString('utf8') }
    }
    const refusal = (work: Promise<unknown>): Promise<{ code: string; message: string }> =>
      work.then(
        () => {
          throw new Error('was not refused')
        },
        (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
      )
    /** Says `still` unless the counter that another box keeps in /task/beat has moved. */
    const isStill = async (root: string): Promise<string> => {
      const seen = await sh(
        'task',
        { root },
        'a=$(cat beat); sleep 0.4; b=$(cat beat); [ "$a" = "$b" ] && echo still',
        'look',
      )
      return seen.out.trim()
    }
    /** `on` as soon as it has beaten again; a busy machine may take its time. */
    const goesOn = async (root: string): Promise<string> => {
      const look = 'b=$(cat beat); [ -n "$b" ] && [ "$a" != "$b" ] && echo on && exit; sleep 0.02'
      return (await sh('task', { root }, `a=$(cat beat); for n in $(seq 500); do ${look}; done`, 'look')).out.trim()
    }
    const beating = 'i=0; while :; do i=$((i+1)); echo $i >beat.new; mv beat.new beat; done'
    const untilBeats = (root: string) => sh('task', { root }, 'until [ -s beat ]; do sleep 0.02; done', 'look')

    it('says that boxes can be had', async () => {
      expect(await provider.report()).toMatchObject({ available: true, detail: expect.stringMatching(/\w/) })
    })

    it('runs a command, feeds it, and keeps its two streams and exit code apart', async () => {
      const output = await provider.run(spec('executor', {}, 'cat; echo told >&2; exit 7'), { stdin: 'asked' })
      expect(output).toMatchObject({ exitCode: 7, signal: null, timedOut: false, outOfMemory: false })
      expect([output.stdout.toString(), output.stderr.toString()]).toEqual(['asked', 'told\n'])
      expect([output.stdoutBytes, output.stderrBytes]).toEqual([5, 5])
    })

    it('runs an executor from TypeScript source under --permission, siblings included', async () => {
      const revision = await folder({
        'main.ts': "import { word } from './word.ts'\nconst n: number = 3\nconsole.log(word.repeat(n))",
        'word.ts': "export const word: string = 'ho'",
        'package.json': '{"type":"module"}',
      })
      const argv = ['/exodesk/bin/node', '--permission', '--allow-fs-read=/revision', '/revision/main.ts']
      const output = await provider.run({
        profile: 'executor',
        label: 'gen-1',
        mounts: { revision },
        argv,
        timeoutMs: 45_000,
      })
      expect([output.stdout.toString(), output.stderr.toString()]).toEqual(['hohoho\n', ''])
    })

    it('[X1] [X2] [C9] [C10] [C12] [S11] shows what every profile must hold, with probes that find their targets on the host', async () => {
      const results = await probeBoxes(provider, { boxesDir: under.boxesDir })
      expect(results.filter(({ holds }) => !holds)).toEqual([])
      expect(results.filter(({ profile }) => profile === 'host')).toHaveLength(4)
      expect(new Set(results.map(({ profile }) => profile)).size).toBe(7)
    }, 180_000)

    it('[C13] refuses a folder that the profile has no place for, that lies elsewhere, or that a link leads to', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'outside-'))
      await symlink(outside, join(under.boxesDir, 'link'))
      const attempts: [ProfileName, BoxMounts, RegExp][] = [
        ['executor', { policy: await folder() }, /no place/],
        ['executor', { revision: outside }, /outside the boxes folder/],
        ['executor', { revision: '/' }, /outside the boxes folder/],
        ['executor', { revision: join(under.boxesDir, 'link') }, /not a folder/],
        ['task', { root: `${under.boxesDir}/../x` }, /absolute path/],
        ['task', { policy: 'relative' }, /absolute path/],
        ['task', { policy: join(under.boxesDir, 'nowhere') }, /does not exist/],
        ['world', { journal: '-v/:/h' }, /absolute path/],
      ]
      for (const [profile, mounts, why] of attempts) {
        expect(await refusal(sh(profile, mounts, 'true'))).toEqual({
          code: 'invalid',
          message: expect.stringMatching(why),
        })
      }
    })

    it('[X12] refuses a spec that could be taken for options or holds NUL', async () => {
      const good = spec('task', {}, 'true')
      const bads: Partial<BoxSpec>[] = [
        { label: '--privileged x' },
        { label: '' },
        { argv: [] },
        { argv: ['a=b'] },
        { argv: ['true', 'a\0b'] },
        { env: { 'A B': 'x' } },
        { env: { A: 'x\0y' } },
        { cwd: '--bind' },
        { timeoutMs: -1 },
      ]
      for (const bad of bads) {
        expect(await refusal(provider.run({ ...good, ...bad }))).toMatchObject({ code: 'invalid' })
      }
    })

    it('gives a task its own writable folders, and its command streams that a shell can open by name', async () => {
      const root = await folder()
      const first = await sh(
        'task',
        { root },
        'echo kept >/task/a; echo tool >/opt/b; pwd; echo $HOME; echo oops >/dev/stderr',
      )
      expect([first.out, first.err]).toEqual(['/task\n/home/agent\n', 'oops\n'])
      expect((await sh('task', { root }, 'cat /task/a /opt/b; id -u; ls /run/world 2>/dev/null | wc -l')).out).toBe(
        'kept\ntool\n65534\n0\n',
      )
    })

    it('[X11] ends the whole tree with the command, a daemon of its own session too', async () => {
      const root = await folder()
      await sh(
        'task',
        { root },
        `(setsid sh -c '${beating}' </dev/null >/dev/null 2>&1 &) ; until [ -s beat ]; do :; done`,
      )
      expect(await isStill(root)).toBe('still')
    })

    it('kills at the time limit and says so', async () => {
      const output = await provider.run({ ...spec('task', {}, 'sleep 1000 & sleep 1000'), timeoutMs: 300 })
      expect(output).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGKILL' })
    })

    it('can be killed at any moment of its making', async () => {
      // A container takes long to make, and its limit counts from its start.
      const step = provider.name === 'docker' ? 15 : 3
      for (let timeoutMs = 1; timeoutMs < 60; timeoutMs += step) {
        const early = await provider.run({ ...spec('task', {}, 'sleep 1000'), timeoutMs })
        expect(early).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGKILL' })
      }
    })

    it('kills on demand, and is empty when kill returns', async () => {
      const root = await folder()
      const box = await provider.start(spec('task', { root }, `sh -c '${beating}' & wait`))
      await untilBeats(root)
      await box.kill()
      expect(await box.exited).toMatchObject({ signal: 'SIGKILL', timedOut: false })
      expect(await isStill(root)).toBe('still')
    })

    it('cancels a run, before and while it goes', async () => {
      expect(await refusal(provider.run(spec('task', {}, 'true'), { signal: AbortSignal.abort() }))).toMatchObject({
        code: 'cancelled',
      })
      const root = await folder()
      const controller = new AbortController()
      const running = refusal(provider.run(spec('task', { root }, beating), { signal: controller.signal }))
      await untilBeats(root)
      controller.abort()
      expect(await running).toMatchObject({ code: 'cancelled' })
      expect(await isStill(root)).toBe('still')
    })

    it('[X6] keeps output up to the cap, counts the rest, and kills a box that floods without growing itself', async () => {
      const some = await provider.run(spec('task', {}, 'head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2'), {
        outputBytes: 1000,
      })
      expect([some.stdout.length, some.stdoutBytes, some.stderrBytes, some.exitCode]).toEqual([1000, 3_000_000, 10, 0])
      await provider.run(spec('task', {}, 'cat /dev/zero'))
      const before = process.memoryUsage().rss
      const flood = await provider.run(spec('task', {}, 'cat /dev/zero & cat /dev/zero >&2'))
      expect(flood.signal).toBe('SIGKILL')
      expect(Math.max(flood.stdoutBytes, flood.stderrBytes)).toBeGreaterThan(64 * 1024 * 1024)
      expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024)
    })

    it('makes a box wait whose output nobody reads', async () => {
      const root = await folder()
      const box = await provider.start(
        spec('task', { root }, 'i=0; while :; do i=$((i+1)); echo $i >beat; head -c 65536 /dev/zero; done'),
      )
      await sh(
        'task',
        { root },
        'a=; while b=$(cat beat 2>/dev/null); [ -z "$b" ] || [ "$a" != "$b" ]; do a=$b; sleep 0.3; done',
      )
      expect(await isStill(root)).toBe('still')
      await box.kill()
    })

    it('[X3] [X4] [C11] survives a box that wants more memory, processes or space than it may have', async () => {
      const eat = 'const all=[];for(;;){all.push(Buffer.alloc(16<<20,1))}'
      const argv = ['/exodesk/bin/node', '-e', eat]
      const hungry = await provider.run({ profile: 'check', label: 'hungry', mounts: {}, argv, timeoutMs: 45_000 })
      expect(hungry.timedOut).toBe(false)
      expect(hungry.exitCode).not.toBe(0)
      if (under.knowsOutOfMemory) expect(hungry.outOfMemory).toBe(true)
      const bomb = await sh('check', {}, 'bomb() { bomb | bomb & }; bomb; sleep 0.5; echo alive', 'bomb')
      expect(bomb.timedOut).toBe(false)
      const full = await sh(
        'executor',
        {},
        'head -c 300000000 /dev/zero >/tmp/fill; echo $?; ls /dev/shm; echo x >/dev/shm/y; echo $?',
      )
      expect(full.out).toMatch(/^[1-9]\d*\n0\n$/)
      expect((await sh('check', {}, 'echo well')).out).toBe('well\n')
    })

    it('[X5] a box that spins on every core is ended at its limit, and others run beside it', async () => {
      const spin = 'for n in 1 2 3 4; do (while :; do :; done) & done; echo spinning; wait'
      const spinner = await provider.start({ ...spec('check', {}, spin, 'spin'), timeoutMs: 8000 })
      await new Promise((resolve) => spinner.stdout.once('data', resolve))
      expect((await sh('executor', {}, 'echo beside', 'beside')).out).toBe('beside\n')
      expect(await spinner.exited).toMatchObject({ timedOut: true })
      expect((await sh('executor', {}, 'echo after', 'beside')).out).toBe('after\n')
    })

    it('gives the task the socket of its world, and nothing else of it', async () => {
      const [socket, journal, program, root] = [await folder(), await folder(), await folder(), await folder()]
      const server = "require('net').createServer((s)=>s.end('pong')).listen('/run/world/s.sock',()=>console.log('up'))"
      const world = await provider.start({
        profile: 'world',
        label: 'world',
        mounts: { socket, journal, program },
        argv: ['/exodesk/bin/node', '-e', server],
      })
      await new Promise<void>((resolve) => world.stdout.once('data', () => resolve()))
      const client = "require('net').connect('/run/world/s.sock').on('data',(d)=>console.log(String(d)))"
      const task = await sh('task', { socket, root }, `node -e "${client}"; rm -f /run/world/s.sock; ls /world`)
      expect(task.out).toBe('pong\n')
      expect(task.err).toMatch(/Read-only file system/)
      expect(task.err).toMatch(/\/world.*No such file/)
      await world.kill()
    })

    it('stops every process of a label and lets them go on, while other boxes run and new ones of it wait', async () => {
      const root = await folder()
      const label = 'frozen-task'
      const box = await provider.start(spec('task', { root }, `(setsid sh -c '${beating}' &) ; sleep 1000`, label))
      await untilBeats(root)
      const frozen = await provider.freeze(label)
      expect(await isStill(root)).toBe('still')
      let hasRun = false
      const late = sh('task', { root }, 'true', label).then(() => {
        hasRun = true
      })
      expect(await isStill(root)).toBe('still')
      expect(hasRun).toBe(false)
      await frozen.thaw()
      await late
      expect(await goesOn(root)).toBe('on')
      const again = await provider.freeze(label)
      await box.kill()
      await again.thaw()
      expect(await isStill(root)).toBe('still')
    })

    it('kills all boxes of a label and no other', async () => {
      const boxes = await Promise.all(
        ['one', 'one', 'other'].map((label) => provider.start(spec('task', {}, 'sleep 1000', label))),
      )
      expect(await provider.killAll('one')).toBe(2)
      expect((await boxes[0]?.exited)?.signal).toBe('SIGKILL')
      expect(await provider.killAll('one')).toBe(0)
      expect(await provider.killAll('other')).toBe(1)
    })

    it('takes /policy in as one tree while the agent goes on writing', async () => {
      const [root, policyDir] = [await folder(), await folder()]
      const kernelFiles = [{ path: 'package.json', text: '{"type":"module"}' }]
      const files = [
        { path: 'lib/b.md', text: 'é\n' },
        { path: 'main.ts', text: 'export {}\n' },
      ]
      await layPolicy(provider, { label: 'p', policyDir, files, kernelFiles })
      expect(await intakePolicy(provider, { label: 'p', policyDir })).toEqual({ ok: true, files })
      const one = 'echo $i >/policy/new.txt; mv /policy/new.txt /policy/one.txt'
      const two = 'echo $i >/policy/new.txt; mv /policy/new.txt /policy/two.txt'
      const twins = `i=0; while :; do i=$((i+1)); ${one}; ${two}; echo $i >/task/beat; done`
      const box = await provider.start(spec('task', { root, policy: policyDir }, twins, 'p'))
      await untilBeats(root)
      for (let round = 0; round < 3; round += 1) {
        const taken = await intakePolicy(provider, { label: 'p', policyDir })
        const number = (path: string) =>
          Number(taken.ok ? taken.files.find((file) => file.path === path)?.text : Number.NaN)
        expect([0, 1]).toContain(number('one.txt') - number('two.txt'))
      }
      expect(await goesOn(root)).toBe('on')
      await box.kill()
    })

    it('[C16] [G11] refuses what is no plain text tree, names each path, and never waits for a pipe', async () => {
      const [root, policyDir] = [await folder(), await folder()]
      const plant = `cd /policy; ln -s /etc/passwd link.ts; mkfifo pipe.ts; echo x >a.ts; ln a.ts hard.ts; echo >.hidden
        printf '\\377' >bytes.txt; echo >run.sh; echo >x.md; chmod +x x.md; echo >Twin.md; echo >twin.md; mkdir ok; echo >ok/y.json`
      expect((await sh('task', { root, policy: policyDir }, plant)).err).toBe('')
      const taken = await intakePolicy(provider, { label: 'p', policyDir })
      const paths = taken.ok ? [] : taken.problems.map(({ path }) => path.replace('./', '')).sort()
      expect(paths.filter((path) => path !== 'a.ts')).toEqual(
        ['.hidden', 'bytes.txt', 'hard.ts', 'link.ts', 'pipe.ts', 'run.sh', 'twin.md', 'x.md'].filter((path) =>
          paths.includes(path),
        ),
      )
      expect(paths).toHaveLength(8)
      const socket = `require('net').createServer().listen('/policy/s.ts',()=>process.exit(0))`
      await layPolicy(provider, { label: 'p', policyDir, files: [{ path: 'main.ts', text: '' }] })
      await sh(
        'task',
        { root, policy: policyDir },
        `cd /policy; node -e "process.on('exit',()=>process.kill(process.pid,9));${socket}"`,
      )
      expect(await intakePolicy(provider, { label: 'p', policyDir })).toMatchObject({
        ok: false,
        problems: [{ problem: expect.stringMatching(/socket/) }],
      })
    })

    it('lays /policy anew without following what the agent planted', async () => {
      const [root, policyDir, victim] = [await folder(), await folder(), await folder({ 'canary.txt': 'alive' })]
      const plant = `cd /policy; ln -s ${victim} lib; ln -s ${victim}/canary.txt main.ts; mkdir -p a/b; chmod 000 a /policy`
      await sh('task', { root, policy: policyDir }, plant)
      const files = [
        { path: 'lib/canary.txt', text: 'new' },
        { path: 'main.ts', text: 'new' },
      ]
      await layPolicy(provider, { label: 'p', policyDir, files })
      expect(await readHostFile(join(victim, 'canary.txt'), 'utf8')).toBe('alive')
      expect(await intakePolicy(provider, { label: 'p', policyDir })).toEqual({ ok: true, files })
    })

    it('[X8] reads, writes and lists files of a task from inside its box', async () => {
      const root = await folder()
      const secret = await folder({ 'secret.txt': 'host only' })
      const place = { profile: 'task' as const, label: 't', mounts: { root } }
      const { hash } = await writeFile(provider, place, 'deep/er/note.md', 'grüße\n', 'absent')
      expect(await readFile(provider, place, '/task/deep/er/note.md')).toEqual({
        text: 'grüße\n',
        totalBytes: 8,
        binary: false,
      })
      expect(await readFile(provider, place, 'deep/er/note.md', 3, 2)).toEqual({
        text: '�\ufffd'.slice(0, 2),
        totalBytes: 8,
        binary: false,
      })
      await writeFile(provider, place, 'deep/er/note.md', 'second', hash)
      expect(await refusal(writeFile(provider, place, 'deep/er/note.md', 'third', hash))).toMatchObject({
        code: 'conflict',
      })
      expect(await refusal(writeFile(provider, place, 'deep/er/note.md', 'x', 'absent'))).toMatchObject({
        code: 'conflict',
      })
      await sh(
        'task',
        { root },
        `ln -s ${secret}/secret.txt leak; printf '\\377\\376' >raw; mkfifo pipe; chmod 000 deep/er/note.md`,
      )
      expect(await list(provider, place, '.')).toEqual({
        entries: [
          { name: 'deep', type: 'directory', sizeBytes: expect.any(Number) },
          { name: 'leak', type: 'link', sizeBytes: expect.any(Number) },
          { name: 'pipe', type: 'other', sizeBytes: 0 },
          { name: 'raw', type: 'file', sizeBytes: 2 },
        ],
      })
      expect(await readFile(provider, place, 'raw')).toEqual({ text: '//4=', totalBytes: 2, binary: true })
      const refusals = ['leak', 'nothing', 'pipe', '.', 'deep/er/note.md'].map((path) =>
        refusal(readFile(provider, place, path)),
      )
      expect((await Promise.all(refusals)).map(({ code }) => code)).toEqual([
        'not-found',
        'not-found',
        'invalid',
        'invalid',
        'forbidden',
      ])
      expect(await refusal(writeFile(provider, place, '/usr/x', 'x'))).toMatchObject({ code: 'forbidden' })
      expect(await refusal(list(provider, place, 'raw'))).toMatchObject({ code: 'invalid' })
    })

    it('starts nothing once it is closed', async () => {
      const { provider: other } = await make()
      const box = await other.start(spec('task', {}, 'sleep 1000'))
      await other.close()
      expect((await box.exited).signal).toBe('SIGKILL')
      expect(await refusal(other.run(spec('task', {}, 'true')))).toMatchObject({ code: 'unavailable' })
    })
  })
}
