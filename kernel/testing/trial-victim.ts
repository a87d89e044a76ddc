// A host with a trial beside a paused task, to be killed on the way (EXODESK_FAILPOINT). Argument: data directory.
import { createRouterClient } from '@orpc/server'
import { readSeed } from '../resources.ts'
import { openTestKernel, startSimulator, testConfig } from './kernel.ts'

const [dataDir = ''] = process.argv.slice(2)
const simulator = startSimulator()
const test = await openTestKernel(simulator, { dataDir, turnLimits: { maxSteps: 1, maxMs: 60_000 } })
const desk = createRouterClient(test.kernel.operator, { context: { via: 'socket' } })
const agent = 'a'
const { task } = await test.kernel.tasks.run({ pack: 'beans', model: 'sim-script', agent })
await test.until((event) => event.kind === 'tool.finished' && event.step === 2)
await desk.tasks.pause({ task })
while ((await desk.tasks.get({ task })).state !== 'paused') await new Promise((resolve) => setTimeout(resolve, 50))
const tree = await readSeed(testConfig(dataDir, simulator).resources.seed)
const self = tree.find(({ path }) => path === 'SELF.md')
if (self) self.text += '\nMended.\n'
const { proposal } = await desk.proposals.submit({ agent, tree, why: 'to see' })
await test.until((event) => event.kind === 'proposal.readied')
const { nonce, binding } = await desk.proposals.view({ agent, proposal })
const caps = { capNanoUsd: null, capTokens: 500_000, maxSteps: 2 }
await desk.trials.start({ agent, proposal, nonce, binding, ...caps })
await test.until((event) => event.kind === 'trial.closed')
process.stdout.write(`${JSON.stringify(await desk.trials.list({}))}\n`)
await test.close()
simulator.stop()
