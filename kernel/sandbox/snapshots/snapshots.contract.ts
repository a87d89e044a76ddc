import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxProvider, TaskPlace } from '../sandbox.ts'

export interface SnapshotsUnderTest {
  provider: SandboxProvider
  boxesDir: string
}

/** What every provider promises of snapshots. */
export function describeSnapshots(name: string, make: () => Promise<SnapshotsUnderTest>): void {
  describe(name, () => {
    let under: SnapshotsUnderTest
    let provider: SandboxProvider
    let tasks = 0
    beforeAll(async () => {
      under = await make()
      provider = under.provider
    })
    afterAll(async () => {
      await provider?.close()
    })

    const open = async (): Promise<TaskPlace> => {
      tasks += 1
      const base = join(under.boxesDir, 'tasks', `T-${tasks}`)
      for (const part of ['root/task', 'root/home', 'root/opt', 'root/tmp', 'policy'])
        await mkdir(join(base, part), { recursive: true })
      const place = { label: `T-${tasks}`, mounts: { root: join(base, 'root'), policy: join(base, 'policy') } }
      await provider.open(place)
      return place
    }
    const sh = async (place: TaskPlace, script: string): Promise<string> => {
      const { stdout, stderr } = await provider.run({
        ...place,
        profile: 'task',
        argv: ['sh', '-c', script],
        timeoutMs: 60_000,
      })
      return stdout.toString('utf8') + stderr.toString('utf8')
    }

    it('brings back what a snapshot kept: files, modes, links, times, in every folder of the task', async () => {
      const place = await open()
      await sh(
        place,
        `echo one > /task/file; chmod 640 /task/file; touch -d 2001-02-03 /task/file; mkdir -p /task/a/b; echo two > /task/a/b/x
         ln -s /etc/passwd /task/link; ln -s nowhere /task/dangling; echo home > ~/.profile; echo o > /opt/tool; chmod 755 /opt/tool
         echo t > /tmp/t; printf x > "$(printf '/task/odd \\377\\n')"; mkfifo /task/pipe; echo edited > /policy/main.ts`,
      )
      const kept = await provider.snapshot(place, 'first')
      expect(kept).toMatchObject({ name: 'first', at: expect.any(Number) })
      await sh(place, 'rm -rf /task/* ~/.profile /opt/tool /tmp/t; echo new > /task/new; echo again > /policy/main.ts')
      await provider.restore(place, 'first')
      const seen = await sh(
        place,
        `cat /task/file /task/a/b/x ~/.profile /opt/tool /tmp/t; stat -c '%a %Y' /task/file; stat -c %a /opt/tool
         readlink /task/link /task/dangling; ls /task | wc -l; ls /task/new 2>&1 | grep -c 'No such'; cat /policy/main.ts
         [ -f "$(printf '/task/odd \\377\\n')" ] && echo odd; touch /task/writable && echo yes`,
      )
      expect(seen.split('\n')).toEqual([
        ...['one', 'two', 'home', 'o', 't'],
        ...[expect.stringMatching(/^640 9811[0-9]+$/), '755', '/etc/passwd', 'nowhere'],
        // A pipe may be left out.
        ...[expect.stringMatching(/^[56]$/), '1', 'again', 'odd', 'yes', ''],
      ])
    })

    it('makes another sandbox of a snapshot, and from then on neither touches the other', async () => {
      const place = await open()
      await sh(place, 'echo one > /task/file; chmod 640 /task/file; echo t > /opt/tool')
      await provider.snapshot(place, 'fork')
      await sh(place, 'echo later > /task/file')
      tasks += 1
      const base = join(under.boxesDir, 'tasks', `T-${tasks}`)
      for (const part of ['policy', ...(provider.name === 'docker' ? ['root'] : [])])
        await mkdir(join(base, part), { recursive: true })
      const to = { label: `T-${tasks}`, mounts: { root: join(base, 'root'), policy: join(base, 'policy') } }
      await provider.clone(place, 'fork', to)
      await provider.forget(place, 'fork')
      await provider.open(to)
      expect(await sh(to, 'cat /task/file /opt/tool; stat -c %a /task/file; echo mine > /task/file')).toBe(
        'one\nt\n640\n',
      )
      expect(await sh(place, 'cat /task/file')).toBe('later\n')
      expect(await provider.snapshots(to)).toEqual([])
      await expect(provider.clone(place, 'none', to)).rejects.toThrow(/no snapshot|already/)
      await provider.destroy(to)
      expect(await sh(place, 'cat /task/file')).toBe('later\n')
    })

    it('keeps several, oldest first, one in place of another of its name, and forgets', async () => {
      const place = await open()
      expect(await provider.snapshots(place)).toEqual([])
      for (const [name, text] of [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ]) {
        await sh(place, `echo ${text} > /task/file`)
        await provider.snapshot(place, name as string)
      }
      expect((await provider.snapshots(place)).map(({ name }) => name)).toEqual(['b', 'a'])
      await provider.restore(place, 'b')
      expect(await sh(place, 'cat /task/file')).toBe('2\n')
      await provider.restore(place, 'a')
      expect(await sh(place, 'cat /task/file')).toBe('3\n')
      await provider.forget(place, 'b')
      await expect(provider.forget(place, 'never')).rejects.toMatchObject({ code: 'not-found' })
      await expect(provider.restore(place, 'b')).rejects.toMatchObject({ code: 'not-found' })
      expect(await sh(place, 'cat /task/file')).toBe('3\n')
    })

    it('stops what runs while it keeps, and ends it where it restores', async () => {
      const place = await open()
      const box = await provider.start({
        ...place,
        profile: 'task',
        argv: [
          'sh',
          '-c',
          'i=0; while :; do i=$((i+1)); for n in one two; do echo $i > /task/.n; mv /task/.n /task/$n; done; done',
        ],
      })
      await sh(place, 'until [ -s /task/two ]; do sleep 0.02; done')
      await provider.snapshot(place, 'both')
      // It goes on.
      expect(
        await sh(
          place,
          'a=$(cat /task/one); for n in $(seq 500); do b=$(cat /task/one); [ -n "$b" ] && [ "$a" != "$b" ] && echo on && exit; sleep 0.02; done',
        ),
      ).toBe('on\n')
      await provider.restore(place, 'both')
      expect((await box.exited).signal).toBe('SIGKILL')
      const [one, two] = (await sh(place, 'cat /task/one /task/two')).split('\n').map(Number)
      expect([0, 1]).toContain((one ?? 0) - (two ?? 0))
    })

    it('[X16] restores no privilege: a set-user-id shell is none, and the sandbox is as it was made', async () => {
      const place = await open()
      const facts = 'id -u; grep -E "NoNewPrivs|CapEff|CapBnd" /proc/self/status; touch /usr/x 2>&1 | grep -c Read-only'
      const before = await sh(place, `cp /bin/sh /task/sh; chmod 6755 /task/sh; ${facts}`)
      await provider.snapshot(place, 'suid')
      await provider.restore(place, 'suid')
      expect(await sh(place, facts)).toBe(before)
      expect(await sh(place, '/task/sh -p -c "id -u; id -g"')).toBe('65534\n65534\n')
      expect(before).toMatch(/NoNewPrivs:\t1/)
    })

    it('lets a verifier begin with a snapshot, and throws away what it changes', async () => {
      const place = await open()
      await sh(place, 'echo done > /task/result')
      await provider.snapshot(place, 'final')
      await sh(place, 'echo spoilt > /task/result')
      const verify = (script: string) =>
        provider.run({
          profile: 'verifier',
          label: `${place.label}.verifier`,
          mounts: {},
          state: { place, snapshot: 'final' },
          argv: ['sh', '-c', script],
          timeoutMs: 60_000,
        })
      expect((await verify('cat /task/result; echo changed > /task/result')).stdout.toString()).toBe('done\n')
      expect((await verify('cat /task/result')).stdout.toString()).toBe('done\n')
      expect(await sh(place, 'cat /task/result')).toBe('spoilt\n')
      await expect(
        provider.run({ profile: 'task', label: 'x', mounts: {}, state: { place, snapshot: 'final' }, argv: ['true'] }),
      ).rejects.toMatchObject({ code: 'invalid' })
    })

    it('[X8] [C17] keeps a link to a file of the host as a link, and never what it leads to', async () => {
      const place = await open()
      const outside = join(under.boxesDir, '..', 'canary')
      await sh(place, `ln -s ${outside} /task/file; ln -s ${join(outside, '..')} /task/folder`)
      await provider.snapshot(place, 'links')
      await provider.restore(place, 'links')
      expect(
        await sh(
          place,
          'readlink /task/file; [ -L /task/folder ] && echo link; cat /task/file 2>&1 | grep -c "No such"',
        ),
      ).toBe(`${outside}\nlink\n1\n`)
    })

    it('is gone once it is destroyed', async () => {
      const place = await open()
      await sh(place, 'echo x > /task/x')
      await provider.snapshot(place, 'one')
      await provider.destroy(place)
      expect(await provider.snapshots(place)).toEqual([])
    })
  })
}
