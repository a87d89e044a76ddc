import { ORPCError } from '@orpc/server'
import type { EventRow, ProposalDetail } from '../../kernel/wire/operator.ts'
import { os } from './fake-contract.ts'
import { hunksOf } from './fake-diff.ts'
import { hash } from './fake-hash.ts'
import { plan } from './fake-proposals.ts'
import { fakeHealth } from './fake-tools.ts'
import type { Tree } from './fake-tree.ts'
import { fakeTrial } from './fake-trial.ts'
import type { FakeWorld } from './fake-world.ts'

/** Proposals, verdicts, trials and opinions of the invented host. Verdicts are bound as the kernel binds them. */
export function fakeReview(world: FakeWorld) {
  const find = ({ agent, proposal }: { agent: string; proposal: string }) => {
    const found = world.proposals.find((each) => each.agent === agent && each.proposal === proposal)
    if (!found) throw new ORPCError('NOT_FOUND', { message: `${agent} has no ${proposal}` })
    return found
  }
  const bindingOf = (revision: string) => ({ revision, base: world.active(), checks: hash(70), profile: hash(71) })
  const mark = (kind: EventRow['kind'], data: EventRow['data']) =>
    world.append({ kind, task: 'T-1', actor: 'operator', data })
  const open = (input: { agent: string; proposal: string; binding: { revision: string; base: string } }) => {
    const found = find(input)
    if (found.state !== 'ready' || input.binding.base !== world.active())
      throw new ORPCError('CONFLICT', { message: 'What you saw is not what is there now: review it again.' })
    return found
  }
  const decide = (
    found: ProposalDetail,
    verdict: 'approved' | 'rejected' | 'returned' | 'deferred',
    change: Partial<ProposalDetail>,
    extra: object = {},
  ) => {
    const before = world.active()
    Object.assign(found, change)
    if (verdict !== 'deferred') found.decidedAt = Date.now()
    const { seq } = mark('proposal.reviewed', {
      proposal: found.proposal,
      verdict,
      reason: found.reason ?? '',
      by: 'operator',
      ...extra,
    } as EventRow['data'])
    if (verdict === 'approved') {
      world.activate('proposal', found.revision, found.proposal)
      for (const other of world.proposals)
        if (other.state === 'ready' && other.base !== world.active()) other.state = 'stale'
    }
    return { seq, state: found.state, before, after: world.active() }
  }
  const treesOf = (found: ProposalDetail): [Tree, Tree] => [world.treeOf(found.base), world.treeOf(found.revision)]
  const riskOf = (found: ProposalDetail) => (path: string) =>
    found.risk === 'HIGH' && !path.endsWith('.md') ? ('HIGH' as const) : ('MED' as const)

  return {
    proposals: {
      list: os.proposals.list.handler(({ input }) =>
        world.proposals.filter((each) => !input.waiting || each.state === 'ready'),
      ),
      get: os.proposals.get.handler(({ input }) => ({
        ...find(input),
        active: { revision: world.active(), activation: world.activation },
      })),
      file: os.proposals.file.handler(({ input }) => {
        const [before, after] = treesOf(find(input))
        return { before: before[input.path] ?? null, after: after[input.path] ?? null }
      }),
      hunks: os.proposals.hunks.handler(({ input }) => {
        const found = find(input)
        return hunksOf(...treesOf(found), riskOf(found))
      }),
      look: os.proposals.look.handler(({ input }) => {
        const found = find(input)
        found.looked = found.looked.filter((each) => each.path !== input.path)
        if (input.viewed) found.looked.push({ path: input.path, isCurrent: true })
        return { seq: mark('proposal.looked', { ...input, hash: null }).seq }
      }),
      view: os.proposals.view.handler(({ input }) => ({
        nonce: `n${++world.nonces}`,
        binding: bindingOf(find(input).revision),
        issuedAt: Date.now(),
      })),
      approve: os.proposals.approve.handler(({ input }) =>
        decide(
          open(input),
          'approved',
          { state: 'probation', reason: input.reason ?? null },
          { onBreach: input.onBreach },
        ),
      ),
      reject: os.proposals.reject.handler(({ input }) =>
        decide(open(input), 'rejected', { state: 'rejected', reason: input.reason, category: input.category ?? null }),
      ),
      return: os.proposals.return.handler(({ input }) =>
        decide(open(input), 'returned', { state: 'returned', reason: input.reason, comments: input.comments }),
      ),
      defer: os.proposals.defer.handler(({ input }) =>
        decide(open(input), 'deferred', { deferredUntil: input.until ?? Date.now() + 3_600_000 }),
      ),
      derive: os.proposals.derive.handler(({ input }) => {
        const found = open(input)
        const [before, after] = treesOf(found)
        const edited = { ...after }
        for (const { path, text } of input.edits ?? [])
          if (text === null) delete edited[path]
          else edited[path] = text
        if (input.keep)
          for (const { path } of found.files)
            if (!input.keep.some((kept) => kept.path === path && kept.hunks.length > 0)) {
              const text = before[path]
              if (text === undefined) delete edited[path]
              else edited[path] = text
            }
        const proposal = `P-${world.proposals.length + 1}`
        const revision = world.name(proposal)
        plan(world, {
          proposal,
          state: 'ready',
          claim: found.claim,
          before,
          after: edited,
          revision,
          by: 'operator',
          risk: found.risk,
          derivedFrom: {
            proposal: found.proposal,
            how: input.edits ? 'edit' : 'part',
            agentLines: 9,
            operatorLines: 2,
          },
        })
        Object.assign(found, { state: 'superseded', derivedTo: proposal })
        mark('proposal.superseded', { proposal: found.proposal, by: proposal })
        return { proposal, revision, state: 'checking' }
      }),
      submit: os.proposals.submit.handler(() => ({ proposal: 'P-99', revision: hash(80), state: 'checking' as const })),
      withdraw: os.proposals.withdraw.handler(() => ({ state: 'withdrawn' as const })),
    },
    trials: {
      list: os.trials.list.handler(({ input }) =>
        world.trials.filter((each) => !input.proposal || each.proposal === input.proposal),
      ),
      start: os.trials.start.handler(({ input }) => {
        const { seq } = mark('proposal.checked', { proposal: input.proposal, trial: 'S-1' })
        const trial = fakeTrial(input.proposal, seq, input)
        world.trials.push(trial)
        return { trial: trial.trial, seq }
      }),
      stop: os.trials.stop.handler(({ input }) => {
        const found = world.trials.find((each) => each.trial === input.trial)
        if (found) Object.assign(found, { state: 'stopped', endedAt: Date.now() })
        return { seq: 1 }
      }),
    },
    reviewer: {
      health: os.reviewer.health.handler(() => fakeHealth()),
      opinion: os.reviewer.opinion.handler(({ input }) => {
        const found = find(input)
        const event = mark('proposal.opined', { proposal: found.proposal, model: input.model ?? 'sim-second' })
        found.opinions.push({
          seq: event.seq,
          model: 'sim-second',
          simulated: true,
          text: 'It does what it says.',
          costNanoUsd: 1_200_000,
          at: Date.now(),
        })
        return { seq: event.seq }
      }),
    },
  }
}
