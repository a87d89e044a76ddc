import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { draft } from '../wire/events.ts'
import type { Activation } from './activation.ts'
import { type Core, within } from './core.ts'
import type { Guardian } from './guardian.ts'
import { type ActivationRecord, waiting } from './state.ts'

/** The operator's way back, at any time: a new activation of older content. History, artifacts and sandbox stay as they are. */
export function createRollback(core: Core, activation: Activation) {
  const { ledger } = core
  const { history, revisions } = core.parts

  function find(agent: string, wanted: number): { from: ActivationRecord; to: ActivationRecord } {
    const from = ledger.mustBeActive(agent)
    const to = ledger.state(agent).activations.find((one) => one.activation === wanted)
    if (to === undefined) throw new KernelError('not-found', `agent ${agent} has no activation r${wanted}`)
    if (to.revision === from.revision)
      throw new KernelError(
        'conflict',
        `r${wanted} has the content that is active now (r${from.activation}): nothing to roll back`,
      )
    return { from, to }
  }

  return {
    async preview(agent: string, wanted: number): ReturnType<Guardian['rollbackPreview']> {
      const { from, to } = find(agent, wanted)
      const [files, now, then] = await Promise.all([
        revisions.changes(from.revision, to.revision),
        revisions.read(from.revision),
        revisions.read(to.revision),
      ])
      const [toolsNow, toolsThen] = [toolsOf(now), toolsOf(then)]
      const next = from.activation + 1
      const task = core.targets.get(agent)?.task
      const left = waiting(ledger.state(agent)).map(({ proposal }) => proposal)
      const effects = [
        `r${next} becomes active, with the content of r${to.activation}.`,
        task === undefined
          ? 'No task of this agent is running: its next one starts under it.'
          : `${task} goes on under it from its next step boundary.`,
        ...(from.proposal === null ? [] : [`${from.proposal} is marked as rolled back.`]),
        ...(left.length === 0 ? [] : [`${left.join(', ')} becomes stale: it was made from r${from.activation}.`]),
        'History, artifacts and the sandbox stay as they are; /policy keeps the agent’s edits.',
        `To undo it, roll back to r${from.activation}.`,
      ]
      return {
        from: { activation: from.activation, revision: from.revision },
        to: { activation: to.activation, revision: to.revision },
        files,
        toolsRemoved: toolsNow.filter((tool) => !toolsThen.includes(tool)),
        toolsRestored: toolsThen.filter((tool) => !toolsNow.includes(tool)),
        effects,
        resulting: `r${next} = content of r${to.activation}`,
      }
    },

    async rollback(
      agent: string,
      wanted: number,
      expectActive: string,
      reason: string,
    ): ReturnType<Guardian['rollback']> {
      core.requireOpen()
      const { next, work } = await ledger.locked(agent, async () => {
        const { from, to } = find(agent, wanted)
        if (from.revision !== expectActive)
          throw new KernelError('conflict', `r${from.activation} has become active meanwhile: look again`)
        const change = core.changing.get(agent)
        if (change !== undefined)
          throw new KernelError('conflict', `${change.what} is under way: wait until it is done`)
        const { revision } = to
        failpoint('rollback:before-authorised')
        await history.appendIfActive(agent, expectActive, [
          draft('revision.authorised', { revision, by: 'operator', proposal: null }, { actor: 'operator', agent }),
        ])
        const data = {
          from: { activation: from.activation, revision: from.revision },
          to: { activation: to.activation, revision },
          cause: 'operator' as const,
          proposal: from.proposal,
          reason,
        }
        const alongside = [draft('revision.rolled-back', data, { actor: 'operator', agent })]
        return {
          next: from.activation + 1,
          work: activation.begin(
            { agent, revision, cause: 'rollback', proposal: null, alongside, expected: from },
            `the rollback to r${wanted}`,
          ),
        }
      })
      const isDone = await within(core.activationWaitMs, core.closing, work)
      if (!isDone)
        throw new KernelError(
          'unavailable',
          'the rollback waits for the step in hand to end: it goes on, look again in a moment',
        )
      const failure = await work
      if (failure !== null)
        throw new KernelError(
          'unavailable',
          `r${wanted} could not take over (${failure.stage}): ${failure.error}. What ran goes on`,
        )
      const done = ledger.state(agent).activations.find((one) => one.activation === next)
      if (done === undefined) throw new KernelError('internal', `r${next} is not in the ledger`)
      return { seq: done.seq, activation: next, revision: done.revision }
    },
  }
}

/** By their files: tools/NAME.ts, without the list of them. */
function toolsOf(files: readonly { path: string }[]): string[] {
  return files.flatMap(({ path }) => {
    const name = /^tools\/([^/]+)\.ts$/.exec(path)?.[1]
    return name === undefined || name === 'index' || name === 'registry' || name.endsWith('.test') ? [] : [name]
  })
}
