import { KernelError } from '../../errors.ts'
import type { Methods } from '../channel.ts'
import type { PolicyOrigin } from '../executor.ts'
import type { Running } from '../running.ts'

/** The guardian answers; the channel says for whom. */
export function policyMethods(
  running: Running,
): Pick<
  Methods,
  'policy.status' | 'policy.read' | 'policy.diff' | 'policy.propose' | 'policy.withdraw' | 'policy.reset'
> {
  const { agent, revision, task } = running.spec
  const policy = running.parts.policy
  const origin = (): PolicyOrigin => ({
    agent,
    task: task.task,
    generation: running.generation,
    turn: running.turn(),
    step: running.step(),
    revision,
    box: task.box,
  })
  return {
    'policy.status': () => policy().status(agent, task.task),
    'policy.read': async ({ path }) => ({ text: await policy().read(agent, path) }),
    'policy.diff': async () => ({ diff: await policy().diff(agent, task.task) }),
    async 'policy.propose'(params) {
      if (!task.brief.propose)
        throw new KernelError('forbidden', 'this run takes no proposals; work with the policy as it is')
      return policy().propose(origin(), params)
    },
    'policy.withdraw': async ({ proposal }) => ({ state: await policy().withdraw(agent, proposal) }),
    'policy.reset': ({ to }) => policy().reset(origin(), to),
  }
}
