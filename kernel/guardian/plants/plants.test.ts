// Revisions planted by an agent in a real task, through real boxes, executors and checks; only its words are scripted.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxMissing, complete, openTestKernel, shell, startSimulator, type TestKernel } from '../../testing/kernel.ts'
import { seed } from '../checks/facts/tree.fixture.ts'
import { type Plant, planted, plants, plantsTable } from './plants.fixture.ts'

if (boxMissing) console.warn(`skipped: ${boxMissing}`)

const gradersLine = 'all forty-two beans were counted twice'
const known = plants(gradersLine)
/** Every other author of each kind is left to `EXODESK_FULL=1`. */
const all =
  process.env.EXODESK_FULL === '1'
    ? known
    : known.filter(({ kind }, n) => n === known.findIndex((other) => other.kind === kind))
if (all.length < known.length)
  process.stdout.write(`plants: ${all.length} of ${known.length}, one of each kind; EXODESK_FULL=1 plays all\n`)
/** The agent's own way to write: by commands, from a clean copy each time. */
function commandFor(plant: Plant): string {
  const edits = planted(seed, plant).map(({ path, text }) =>
    text === null
      ? `rm /policy/${path}`
      : `mkdir -p "$(dirname /policy/${path})" && echo ${Buffer.from(text).toString('base64')} | base64 -d > /policy/${path}`,
  )
  return ['find /policy -mindepth 1 -delete', 'cp -r /opt/clean/. /policy/', ...edits].join(' && ')
}

const wait = (n: string) => ({
  toolCalls: [
    { name: 'shell', arguments: { command: `until [ -e /task/go-${n} ]; do sleep 0.1; done`, timeout_s: 600 } },
  ],
})
const propose = ({ claim, why }: Plant) => ({ toolCalls: [{ name: 'propose', arguments: { claim, why } }] })

describe.skipIf(boxMissing)('a planted revision', { timeout: 600_000 }, () => {
  const simulator = startSimulator()
  let test: TestKernel
  const operator = () => createRouterClient(test.kernel.operator, { context: { via: 'socket' as const } })
  const put = (name: string, text = '') => writeFileSync(join(test.dataDir, 'boxes/tasks/T-1/root/task', name), text)
  beforeAll(async () => {
    test = await openTestKernel(simulator)
    const script = [
      wait('on'),
      ...[shell('cp -r /policy /opt/clean'), shell('ls -la /task'), shell('seq 400'), shell('echo three')],
      ...all.flatMap((plant, n) => [shell(`sh /task/plant-${n}`), propose(plant), wait(`${n}`)]),
      complete(),
    ]
    const grader = `grep -q '${gradersLine}' /task/report.txt\necho 1 > /logs/verifier/reward.txt\n`
    test.pack('plants', { script, grader })
    await test.kernel.tasks.run({ pack: 'plants', model: 'sim-script', agent: 'planter' })
    await test.until(({ kind }) => kind === 'sandbox.created')
    for (const [n, plant] of all.entries()) put(`plant-${n}`, commandFor(plant))
    put('go-on')
  }, 120_000)
  afterAll(async () => {
    await test.close()
    simulator.stop()
  })

  it.each(all.map((plant, n) => [n, plant.kind, plant.name, plant] as const))(
    '%i (%s) %s comes to what it should, by the check that should',
    async (n, _kind, _name, plant) => {
      const proposal = `P-${n + 1}`
      await test.until(
        ({ kind, data }) =>
          (kind === 'proposal.readied' && (data as { proposal: string }).proposal === proposal) ||
          (kind === 'proposal.checked' && (data as { proposal: string }).proposal === proposal && isEnd(data)),
      )
      const found = await operator().proposals.get({ agent: 'planter', proposal })
      const decided = found.checks.find(
        ({ verdict }) => verdict === (plant.expected === 'failed' ? 'fail' : 'unresolved'),
      )
      const outcome = found.state === 'failed-checks' ? 'failed' : found.unresolved.length > 0 ? 'held' : found.state
      const told = found.checks.map(({ check, verdict, summary }) => `${check} ${verdict}: ${summary}`)
      put(`go-${n}`)
      expect({ outcome, by: outcome === 'ready' ? null : (decided?.check ?? null), told }).toEqual({
        outcome: plant.expected,
        by: plant.by,
        told,
      })
    },
  )

  it('is never active unless somebody approved it', async () => {
    const [planter] = await operator().agents.list()
    expect(planter).toMatchObject({ agent: 'planter', activation: 1 })
  })
})

function isEnd(data: unknown): boolean {
  return (data as { verdict: string }).verdict === 'fail'
}

it('the published table of plants is this list', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/plants.md'), 'utf8')
  expect(page).toContain(plantsTable(known))
})
