// A host that does something of many steps and may be killed on the way (EXODESK_FAILPOINT). Arguments: data directory, pack, and
// what it does beside running the task: `run` nothing, `adopt` approves a proposal of the operator's while the task runs,
// `rollback` goes back after it, `reject` turns it down.
// Each event is written to acknowledged.ndjson once history has it.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { readSeed } from '../resources.ts'
import { openTestKernel, startSimulator, testConfig } from './kernel.ts'

const [dataDir = '', pack = '', mode = 'run'] = process.argv.slice(2)
const simulator = startSimulator()
const test = await openTestKernel(simulator, { dataDir, probationSteps: 1 })
const { history, tasks } = test.kernel
history.onCommit((events) => {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
  appendFileSync(join(dataDir, 'acknowledged.ndjson'), lines)
})
const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
const before = tasks.states()[0]?.task
const { task, agent } =
  before === undefined ? await tasks.run({ pack, model: 'sim-script', agent: 'a' }) : { task: before, agent: 'a' }

await test.until((event) => event.kind === 'task.started')
if (mode !== 'run') {
  await test.until((event) => event.kind === 'turn.started')
  const tree = await readSeed(testConfig(dataDir, simulator).resources.seed)
  const self = tree.find(({ path }) => path === 'SELF.md')
  if (self) self.text += '\nMended.\n'
  const { proposal } = await desk.proposals.submit({ agent, tree, why: 'to see', claim: 'nothing' })
  await test.until((event) => event.kind === 'proposal.readied')
  const { nonce, binding } = await desk.proposals.view({ agent, proposal })
  if (mode === 'reject') await desk.proposals.reject({ agent, proposal, nonce, binding, reason: 'no' })
  else {
    const approving = desk.proposals.approve({ agent, proposal, nonce, binding })
    // The one that takes over is ready: the step may end.
    await test.until((event) => event.kind === 'executor.started' && (event.generation ?? 0) > 1)
    go()
    await approving
  }
  if (mode === 'rollback') {
    const [now] = await desk.revisions.list({ agent })
    const active = (await desk.agents.list()).find((one) => one.agent === agent)
    await desk.revisions.rollback({ agent, activation: 1, expectActive: active?.revision ?? now?.revision ?? '' })
  }
}
go()
process.stdout.write(`${JSON.stringify(await tasks.ended(task))}\n`)
await test.kernel.close()
simulator.stop()

/** The script of the task waits for this file: nothing it does ends before what is to be interrupted. */
function go(): void {
  const folder = join(dataDir, 'boxes/tasks', task, 'root/task')
  if (existsSync(folder)) writeFileSync(join(folder, 'go'), '')
}
