import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createRouterClient } from '@orpc/server'
import { systemClock } from '../kernel/clock.ts'
import { BootAnswers } from '../kernel/executor/boot-answers.ts'
import { Channel } from '../kernel/executor/channel.ts'
import { wireLimits } from '../kernel/executor/timings.ts'
import { readSeed } from '../kernel/resources.ts'
import { boxMissing, complete, openTestKernel, shell, startSimulator, testConfig } from '../kernel/testing/kernel.ts'
import type { Event } from '../kernel/wire/events.ts'
import { atMost, type Bench, quantile, type Row, rate, time, told } from './row.ts'

const peer = join(import.meta.dirname, 'wire-peer.mjs')
const rounds = 5
/** What an idle desk is watched for. */
const idleMs = 20_000

export const bench: Bench = async function* ({ folder }) {
  yield* roundTrips()
  if (boxMissing !== null) {
    console.log(`executors are not measured: ${boxMissing}`)
    return
  }
  yield* desk(folder)
}

/** Each against bytes that come back over the same two pipes, with nothing done to them. */
async function* roundTrips(): AsyncIterable<Row> {
  const shapes = [
    { figure: 'wire: round trips of 200 B, one at a time', bytes: 200, inFlight: 1, count: 5_000, goal: 0.7 },
    { figure: 'wire: round trips of 200 B, 64 in flight', bytes: 200, inFlight: 64, count: 30_000, goal: 0.6 },
    { figure: 'wire: round trips of 64 KB', bytes: 64 * 1024, inFlight: 1, count: 1_000, goal: 0.5 },
  ]
  for (const { figure, bytes, inFlight, count, goal } of shapes) {
    const raw: number[] = []
    const rpc: number[] = []
    // In turn, so that both meet the same machine.
    for (let round = 0; round < rounds; round += 1) {
      raw.push(await measured(['raw', bytes, inFlight, count], (child) => child.stdout.pipe(child.stdin)))
      rpc.push(await measured(['rpc', bytes, inFlight, count], answer))
    }
    const unit = 'a second'
    const best = { what: 'raw pipe echo', value: quantile(raw, 0.5) }
    yield rate(figure, { value: quantile(rpc, 0.5), unit }, best, goal)
  }
}

async function measured(args: (string | number)[], serve: (child: ChildProcessWithoutNullStreams) => void) {
  const child = spawn(process.execPath, [peer, ...args.map(String)])
  serve(child)
  child.stdin.on('error', () => undefined)
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  await once(child, 'close')
  return (JSON.parse(said) as { perSecond: number }).perSecond
}

/** The kernel's own end of the wire, with the schemas and limits that a real executor meets. */
function answer(child: ChildProcessWithoutNullStreams): void {
  const { methods } = new BootAnswers({ count: () => 1 }, systemClock, 'a'.repeat(64))
  new Channel({
    input: child.stdout,
    output: child.stdin,
    // As much comes back as was sent.
    methods: { ...methods, 'history.append': async ({ data }) => ({ seq: 1, text: data.text }) },
    clock: systemClock,
    limits: wireLimits,
    framesPer100Ms: Number.POSITIVE_INFINITY,
    onStruck: (problem) => {
      throw new Error(problem)
    },
  })
}

async function* desk(folder: string): AsyncIterable<Row> {
  const node: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now()
    spawnSync(process.execPath, ['-e', '0'])
    node.push(performance.now() - from)
  }
  const simulator = startSimulator()
  const test = await openTestKernel(simulator, { dataDir: folder, probationSteps: 1 })
  try {
    const wait = (name: string) => shell(`until [ -e /task/${name} ]; do sleep 0.2; done`)
    const script = [shell('true'), wait('go'), shell('true'), wait('rest'), wait('end'), complete()]
    test.pack('waits', { script })
    const client = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
    const { task, agent } = await client.tasks.run({ pack: 'waits', model: 'sim-script', agent: 'a' })
    const go = (name: string) => writeFileSync(join(folder, 'boxes/tasks', task, 'root/task', name), '')

    const first = await test.until((event) => event.kind === 'executor.started')
    const created = await test.until((event) => event.kind === 'task.created')
    yield time(
      'executor: start to its first message, in its box',
      (first as Event<'executor.started'>).data.startMs,
      { what: 'node -e 0', value: quantile(node, 0.5) },
      0.83,
    )
    yield told('task: asked for, to a running executor', { value: first.at - created.at, unit: 'ms' })

    // From the last word of the old executor to the first of the new one, which was started beforehand.
    const tree = await readSeed(testConfig(folder, simulator).resources.seed)
    const changed = tree.map((file) => (file.path === 'SELF.md' ? { ...file, text: `${file.text}\nMended.\n` } : file))
    const { proposal } = await client.proposals.submit({ agent, tree: changed, why: 'to measure', claim: 'nothing' })
    await test.until((event) => event.kind === 'proposal.readied')
    const { nonce, binding } = await client.proposals.view({ agent, proposal })
    const approving = client.proposals.approve({ agent, proposal, nonce, binding })
    await test.until((event) => event.kind === 'executor.started' && event.seq > first.seq)
    go('go')
    await approving
    const activated = await test.until((event) => event.kind === 'revision.activated' && event.data.activation === 2)
    const next = await test.until((event) => event.kind === 'turn.started' && event.seq > activated.seq)
    const last = (await test.events(['turn.ended'])).findLast(({ seq }) => seq < activated.seq)
    yield atMost('replacement: no executor works for', { value: next.at - (last?.at ?? 0), unit: 'ms' }, 20)
    go('rest')
    await test.until((event) => event.kind === 'tool.called' && event.data.arguments.includes('/task/end'))
    yield* idle('idle desk with a running task')
    yield told('idle: memory of the executor', { value: executorMiB(), unit: 'MiB' })
    await client.tasks.pause({ task })
    go('end')
    await test.until((event) => event.kind === 'executor.drained' && event.seq > first.seq)
    yield* idle('idle desk with a paused task')
    await client.tasks.stop({ task })
    await test.kernel.tasks.ended(task)
  } finally {
    await test.kernel.close()
    simulator.stop()
  }
}

async function* idle(figure: string): AsyncIterable<Row> {
  await delay(2_000)
  const before = process.cpuUsage()
  const from = performance.now()
  await delay(idleMs)
  const { user, system } = process.cpuUsage(before)
  const percent = (user + system) / 10 / (performance.now() - from)
  yield atMost(`${figure}: CPU of the kernel`, { value: percent, unit: '% of a core' }, 5)
  yield told(`${figure}: memory of the kernel`, { value: process.memoryUsage().rss / 1024 ** 2, unit: 'MiB' })
}

/** The largest process that runs a revision. */
function executorMiB(): number {
  const sizes = readdirSync('/proc').flatMap((pid) => {
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      if (!argv.startsWith('/exodesk/bin/node') || !argv.includes('/revision/main.ts')) return []
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return [Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024]
    } catch {
      return []
    }
  })
  return Math.max(0, ...sizes)
}
