// A host whose guardian does something of many steps and may be killed on the way (EXODESK_FAILPOINT). Arguments: data directory,
// and what: `running` and `at-rest` adopt a proposal, `escalate` falls back after crashes, `safe-mode` gives up on all, `reset` lays /policy anew.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { agent, openTestGuardian, StandInTask } from './guardian.ts'

const [dataDir, mode] = process.argv.slice(2)
const test = await openTestGuardian(dataDir === undefined ? {} : { dataDir })
const crash = async () => {
  const active = await test.guardian.active(agent)
  if (active === null) throw new Error('no agent')
  return test.guardian.generationFailed(agent, { task: 'T-1', ...active, kind: 'crash', detail: 'exit code 1' })
}
switch (mode) {
  case 'escalate':
    await test.approve(await test.propose('two'))
    process.stdout.write(`${JSON.stringify(await crash())}\n`)
    break
  case 'safe-mode':
    for (let n = 0; n < 6; n += 1) process.stdout.write(`${JSON.stringify(await crash())}\n`)
    break
  case 'reset': {
    const policy = join(test.boxesDir, 'policy')
    mkdirSync(policy)
    const box = { label: 'T-1', mounts: { policy }, workdir: '/task' }
    test.guardian.attach(agent, new StandInTask({ box }))
    await test.guardian.layPolicy(agent, box, 'T-1')
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    await test.guardian.reset({ agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision, box }, 'active')
    break
  }
  default:
    if (mode === 'running') test.guardian.attach(agent, new StandInTask())
    process.stdout.write(`${JSON.stringify(await test.approve(await test.propose('two')))}\n`)
}
await test.guardian.close()
await test.history.close()
