// How other authors reached further, each by a name of the engine or a command that says so, beside what reaches no further.
import { describe, expect, it } from 'vitest'
import { staticDetailsSchema } from '../../wire/operator-checks.ts'
import { edited, read, seed, withFiles } from './facts/tree.fixture.ts'
import { judge } from './static.ts'

const base = read(seed)
const textOf = (path: string) => seed.find((file) => file.path === path)?.text ?? ''
const extra = (body: string, before = '') =>
  `import type { Tool } from '../tool.ts'\n${before}\nexport const tool: Tool = {\n  name: 'extra', description: 'Extra.', properties: {}, required: [],\n  async run(args, kernel) {\n${body}\n    return ''\n  },\n}\n`
const withTool = (body: string, before?: string) =>
  withFiles(seed, {
    'tools/index.ts': `${textOf('tools/index.ts')}export { tool as extra } from './extra.ts'\n`,
    'tools/extra.ts': extra(body, before),
  })
const runs = (command: string) => withTool(`await kernel.exec(${JSON.stringify(command)})`)
const imports = (what: string) => withTool('', `import * as it from '${what}'`)
function judged(tree: typeof seed) {
  const { verdict, details } = judge(base, read(tree))
  const { risk, reasons, files } = staticDetailsSchema.parse(details)
  return { verdict, risk, high: files.filter((one) => one.risk === 'HIGH').flatMap((one) => one.reasons), reasons }
}

describe('what reaches further', () => {
  it.each<[name: string, tree: typeof seed, named: string]>([
    ['an inner module of the network', imports('_http_client'), 'node:_http_client'],
    ['another', imports('node:_tls_wrap'), 'node:_tls_wrap'],
    ['a terminal by its number', imports('node:tty'), 'node:tty'],
    ['the wire’s own lines', imports('node:readline'), 'node:readline'],
    ['timers by a module', imports('node:timers'), 'node:timers'],
    ['work for later', withTool("setTimeout(() => kernel.exec('ls'), 60_000)"), 'setTimeout'],
    ['work in the next moment', withTool("queueMicrotask(() => void kernel.exec('ls'))"), 'queueMicrotask'],
    [
      'work that nobody waits for',
      withTool("void kernel.exec('ls').then(() => kernel.exec('ls'))"),
      'nobody waits for',
    ],
    ['the same, without a word', withTool("kernel.call('history.read', {})"), 'nobody waits for'],
    ['a store of the program', withTool('seen.push(args.x)', 'const seen: unknown[] = []'), 'a store'],
    ['a count of the program', withTool('made += 1', 'let made = 0'), 'a store'],
    ['a store of the engine', withTool("localStorage.setItem('a', '1')"), 'localStorage'],
    ['another end', withTool("new BroadcastChannel('a').postMessage(1)"), 'BroadcastChannel'],
    ['memory of threads', withTool('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'), 'Atomics'],
    ['the engine’s sweeping', withTool('new FinalizationRegistry(() => 0)'), 'FinalizationRegistry'],
    ['where it lies', withTool('return import.meta.dirname'), 'import.meta'],
    [
      'a tool of the provider',
      edited('responses.ts', 'strict: false,', "strict: false,\n        also: { type: 'web_search' },"),
      'web_search',
    ],
    [
      'a method by a made name',
      withTool('return go(kernel, args.m)', 'const go = (k: any, m: string) => k.call(m, {})'),
      'made while it runs',
    ],
    ['a question to the model', withTool("await kernel.call('model.call', {} as never)"), 'model.call'],
    ['a question to the operator', withTool("await kernel.call('task.ask', {} as never)"), 'task.ask'],
    ['an end of the task', withTool("await kernel.call('task.complete', {} as never)"), 'task.complete'],
    ['an earlier state', withTool("await kernel.call('sandbox.restore', {} as never)"), 'sandbox.restore'],
    [
      'a tool that now runs commands',
      edited(
        'tools/remember.ts',
        'async run(args, kernel) {',
        "async run(args, kernel) {\n    await kernel.exec('ls')",
      ),
      'kernel.exec',
    ],
    [
      'its own source',
      withTool("await kernel.call('sandbox.write', { path: '/policy/loop.ts' } as never)"),
      'its own source',
    ],
    ['a repository elsewhere', runs('git push origin main'), 'downloads or uploads'],
    ['a name elsewhere', runs('dig example.invalid'), 'downloads or uploads'],
    ['a connection by another program', runs('openssl s_client -connect a:1'), 'downloads or uploads'],
    ['a connection by a program of its own', runs('python3 - <<E\nimport socket\nE'), 'network as a program'],
    ['the services of a task', runs('ls /run/exodesk/endpoints'), 'service of the task'],
    ['a program in the background', runs('python3 server.py &'), 'goes on after'],
    ['other programs’ ends', runs('kill -9 -1'), 'ends other processes'],
    ['a command under another’s name', runs('ln -sf /task/x /usr/bin/python3'), 'what commands mean'],
    ['another search for commands', runs('export PATH=/task/bin:$PATH'), 'what commands mean'],
    ['files for everybody', runs('chmod -R 777 /'), 'files to everybody'],
    ['the environment', runs('printenv'), 'its environment'],
    ['a device', runs('dd if=/dev/zero of=/task/x'), 'writes to devices'],
  ])('is of high risk, and named: %s', (_name, tree, named) => {
    const { risk, high } = judged(tree)
    expect([risk, high.join('; ')]).toEqual(['HIGH', expect.stringContaining(named)])
  })

  it('is nobody’s to decide where the client of the kernel is handed on', () => {
    expect(judged(withTool("const { call } = kernel\nawait call('history.read', {})"))).toMatchObject({
      verdict: 'fail',
    })
    expect(judged(withTool("const { exec } = kernel\nawait exec('ls')")).reasons.join()).toContain('kernel.exec')
  })

  it.each<[name: string, tree: typeof seed]>([
    ['a command of the task', runs('ls -la /task && make test 2>&1 | tail -5')],
    ['a program of the task', runs('python3 /task/check.py')],
    ['a mode for itself', runs('chmod 755 /task/run.sh')],
    ['a reading', withTool("await kernel.call('history.read', { scope: 'task' })")],
    ['what is written down', withTool('args.x = known.get(args.x)', "const known = new Map([['a', 1]])")],
    ['a wait', withTool('await sleep(1)', "import { setTimeout as sleep } from 'node:timers/promises'")],
    [
      'sums',
      withTool(
        "args.x = createHash('sha256').update(args.x).digest('hex')",
        "import { createHash } from 'node:crypto'",
      ),
    ],
  ])('is not: %s', (_name, tree) => {
    expect(judged(tree)).toMatchObject({ verdict: 'pass', risk: 'MED' })
  })
})
