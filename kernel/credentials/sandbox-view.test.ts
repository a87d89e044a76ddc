// What the shell of an agent sees of the person whose machine this is: on each provider of boxes that can be had.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator } from '../testing/kernel.ts'

const docker = process.env.EXODESK_TEST_DOCKER?.replace(/^unix:\/\//, '')
const providers = [
  { sandbox: 'local' as const, missing: boxMissing, config: {} },
  {
    sandbox: 'docker' as const,
    missing: docker === undefined ? 'EXODESK_TEST_DOCKER names no engine' : null,
    config: docker === undefined ? {} : { docker: { socketPath: docker } },
  },
]
for (const { sandbox, missing } of providers) if (missing) console.warn(`skipped in ${sandbox} boxes: ${missing}`)

const secret = 'canary-of-the-person'
const files = [
  '.aws/credentials',
  '.git-credentials',
  '.gitconfig',
  '.config/gh/hosts.yml',
  '.ssh/id_ed25519',
  '.netrc',
]
const variables = ['SSH_AUTH_SOCK', 'AWS_SECRET_ACCESS_KEY', 'OPENAI_API_KEY', 'GH_TOKEN', 'GIT_ASKPASS']
const before = { ...process.env }
const simulator = startSimulator()
let home: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'exodesk-home-'))
  for (const file of files) {
    mkdirSync(join(home, file, '..'), { recursive: true })
    writeFileSync(join(home, file), `password = ${secret}\n`)
  }
  process.env.HOME = home
  for (const name of variables) process.env[name] = `${home}/${secret}`
})
afterAll(() => {
  for (const name of ['HOME', ...variables])
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  rmSync(home, { recursive: true })
  simulator.stop()
})

describe.each(providers)('in $sandbox boxes', ({ sandbox, missing, config }) => {
  it.skipIf(missing)(
    '[S11] [C12] nothing of the person’s keys can be seen: no agent, no file, no variable',
    async () => {
      expect(readFileSync(join(home, '.aws/credentials'), 'utf8')).toContain(secret)
      const test = await openTestKernel(simulator, config)
      try {
        const paths = [home, '~', '/root', '/home/*'].flatMap((root) => files.map((file) => `${root}/${file}`))
        const look = `echo looked; env; cat /proc/*/environ | tr '\\0' '\\n'; cat ${paths.join(' ')}; git credential fill </dev/null; ls -la $SSH_AUTH_SOCK`
        const pack = test.pack('look', { script: [shell(`(${look}) 2>&1 | head -c 8000`), complete()] })
        const { task } = await test.kernel.tasks.run({ pack, model: 'sim-script', sandbox })
        await test.kernel.tasks.ended(task)
        const [finished] = await test.events(['tool.finished'])
        const output = JSON.stringify(finished?.data).replaceAll('\\n', '\n')
        // It was a shell with an environment of its own that looked.
        expect(output).toContain('looked')
        expect(output).toMatch(/^PATH=/m)
        for (const trace of [secret, ...variables.map((name) => `${name}=`)]) expect(output).not.toContain(trace)
      } finally {
        await test.close()
      }
    },
  )
})
