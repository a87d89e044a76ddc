// A host that adopts a proposal and may be killed on the way (EXODESK_FAILPOINT). Arguments: data directory, `running` or `at-rest`.
import { agent, openTestGuardian, StandInTask } from './guardian.ts'

const [dataDir, mode] = process.argv.slice(2)
const test = await openTestGuardian(dataDir === undefined ? {} : { dataDir })
if (mode === 'running') test.guardian.attach(agent, new StandInTask())
const receipt = await test.approve(await test.propose('two'))
process.stdout.write(`${JSON.stringify(receipt)}\n`)
await test.guardian.close()
await test.history.close()
