// A host that runs a task and may be killed on the way (EXODESK_FAILPOINT). Arguments: data directory, pack.
import { openTestKernel, startSimulator } from './kernel.ts'

const [dataDir = '', pack = ''] = process.argv.slice(2)
const simulator = startSimulator()
const test = await openTestKernel(simulator, { dataDir })
const { task } = await test.kernel.tasks.run({ pack, model: 'sim-script' })
process.stdout.write(`${JSON.stringify(await test.kernel.tasks.ended(task))}\n`)
await test.kernel.close()
simulator.stop()
