// A host whose guardian does something of many steps and may be killed on the way (EXODESK_FAILPOINT). Arguments: data directory,
// and what: `running` and `at-rest` adopt a proposal, `escalate` falls back after crashes, `safe-mode` gives up on all, `reset` lays /policy anew,
// `derive`, `return` and `defer` give those verdicts, `rule` lets a rule decide, `revoke` revokes one, `profile` changes the profile, `expire` lets a proposal expire, `recall` puts one off until its time has come,
// `regress` goes back after a breach of limits, `keep` leaves it as it is.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { agent, openTestGuardian, policy, StandInTask } from './guardian.ts'
import { limitedSteps } from './limited-steps.ts'

const [dataDir, mode] = process.argv.slice(2)
let wallMs = 0
const test = await openTestGuardian({
  ...(dataDir === undefined ? {} : { dataDir }),
  ...(mode === 'expire' || mode === 'recall'
    ? { clock: { now: () => Date.now() + wallMs, monotonic: () => performance.now() } }
    : {}),
  ...(mode === 'rule'
    ? {
        intake: {
          intakePolicy: async () => ({ ok: true as const, files: policy('one', { 'a.md': 'a\n' }) }),
          layPolicy: async () => {},
        },
      }
    : {}),
})
const view = async (proposal: string) => ({
  agent,
  proposal,
  reason: 'so',
  ...(await test.guardian.view(agent, proposal)),
})
const edits = [{ path: 'b.md', text: 'b\n' }]
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
  case 'derive':
    await test.guardian.derive({ ...(await view(await test.propose('two'))), edits })
    break
  case 'return':
    await test.guardian.sendBack({ ...(await view(await test.propose('two'))), comments: [] })
    break
  case 'defer':
    await test.guardian.defer({ ...(await view(await test.propose('two'))), until: null })
    break
  case 'profile': {
    await test.propose('two')
    const { version } = test.guardian.profile()
    await test.guardian.setProfile({ version, checks: [{ check: 'boot', gates: false }], reason: 'to see' })
    break
  }
  case 'expire':
    await test.propose('two')
    wallMs = 8 * 24 * 60 * 60_000
    await test.guardian.recover()
    break
  case 'recall':
    await test.propose('two')
    await test.guardian.defer({ ...(await view('P-1')), until: Date.now() + 3_600_000 })
    wallMs = 2 * 3_600_000
    await test.guardian.recover()
    break
  case 'revoke': {
    const { rule } = await test.guardian.rules.add({ agent: null, tags: [], except: [], maxChangedLines: 9 })
    await test.guardian.rules.revoke(rule, 'so')
    break
  }
  case 'rule': {
    await test.guardian.rules.add({ agent: null, tags: [], except: [], maxChangedLines: 9 })
    const box = { label: 'T-1', mounts: { policy: '/policy' }, workdir: '/task' }
    test.guardian.attach(agent, new StandInTask({ box, approve: 'rules' }))
    await test.guardian.layPolicy(agent, box, 'T-1')
    const { revision = '' } = (await test.guardian.active(agent)) ?? {}
    const where = { agent, task: 'T-1', generation: 1, turn: 1, step: 1, revision, box }
    await test.guardian.propose(where, { claim: 'clearer', why: 'it was not' })
    await test.guardian.settled(agent)
    break
  }
  case 'regress':
  case 'keep': {
    test.guardian.attach(agent, new StandInTask())
    await limitedSteps(test, 6)
    const proposal = await test.propose('two')
    const { nonce, binding } = await test.guardian.view(agent, proposal)
    const onBreach = mode === 'keep' ? ('propose' as const) : ('rollback' as const)
    await test.guardian.approve({ agent, proposal, nonce, binding, reason: '', onBreach })
    await limitedSteps(test, 7, { costNanoUsd: 9_000_000 })
    if (mode === 'keep') await test.guardian.keep(agent, 2, 'worth it')
    break
  }
  default:
    if (mode === 'running') test.guardian.attach(agent, new StandInTask())
    process.stdout.write(`${JSON.stringify(await test.approve(await test.propose('two')))}\n`)
}
await test.guardian.close()
await test.history.close()
