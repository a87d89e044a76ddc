import { KernelError } from '../errors.ts'
import type { PolicyOrigin, TaskContext } from '../executor/executor.ts'
import { failpoint } from '../failpoints.ts'
import type { IntakeProblem } from '../sandbox/sandbox.ts'
import type { PolicyStatus } from '../wire/executor.ts'
import type { Core } from './core.ts'
import type { ProposalRecord } from './state.ts'

/** Bytes of a diff that an agent is given at once. */
const diffBytesMax = 256 * 1024
const proposalsShown = 10
const backupName = 'policy-backup'

type PolicyBox = TaskContext['box']

/** What a task's /policy was laid from; kept as an artifact that only the kernel writes. */
interface Laid {
  revision: string
  /** Head of history when it was laid: proposals made later were made from this copy. */
  after: number
}

/** The working copies at /policy, one a task. Nothing here overwrites an agent's edits, save `reset`, which keeps them. */
export function createWorkingCopies(core: Core) {
  const { ledger } = core
  const { history, revisions, artifacts, provider, intake } = core.parts

  /** @throws KernelError `unavailable` where the copy cannot be read. */
  function read(box: PolicyBox) {
    return intake.intakePolicy(provider, { label: box.label, policyDir: folder(box) })
  }

  const runOf = (agent: string) => (ledger.find(agent)?.trial == null ? ('task' as const) : ('trial' as const))

  async function put(agent: string, box: PolicyBox, task: string, revision: string): Promise<void> {
    const files = await revisions.read(revision)
    await intake.layPolicy(provider, {
      label: box.label,
      policyDir: folder(box),
      files,
      kernelFiles: revisions.kernelFiles(),
    })
    failpoint('policy:laid')
    const laid: Laid = { revision, after: history.head()?.seq ?? 0 }
    await artifacts.put(agent, baseName(task), JSON.stringify(laid), { actor: 'kernel', task, run: runOf(agent) })
  }

  async function laidAs(agent: string, task: string): Promise<Laid | null> {
    try {
      const { text } = await artifacts.get(agent, baseName(task))
      return JSON.parse(text) as Laid
    } catch (error) {
      if (error instanceof KernelError && error.code === 'not-found') return null
      throw error
    }
  }

  /** What the copy counts as made from: what it was laid from, or the latest activated proposal that was made from it since. */
  async function base(agent: string, task: string): Promise<string> {
    const laid = await laidAs(agent, task)
    if (laid === null) throw new KernelError('not-found', `/policy of ${task} has not been laid yet`)
    let { revision } = laid
    for (const one of ledger.state(agent).proposals) {
      const isOfThisCopy = one.task === task && one.madeSeq > laid.after && one.base === revision
      // The operator's own edits, or what they left out, are not in the agent's copy.
      if (isOfThisCopy && one.derived === null && one.activation !== null) revision = one.revision
    }
    return revision
  }

  function boxOf(agent: string, task: string): PolicyBox {
    const target = core.targets.get(agent)
    if (target === undefined || target.task !== task)
      throw new KernelError('unavailable', `${task} is not running: its /policy can be reached only while it runs`)
    return target.box()
  }

  async function statusOf(agent: string, task: string, box: PolicyBox): Promise<PolicyStatus> {
    const [from, copy] = await Promise.all([base(agent, task), read(box)])
    const state = ledger.state(agent)
    const { revision, activation } = ledger.mustBeActive(agent)
    return {
      active: { revision, activation },
      base: from,
      changed: copy.ok ? revisions.compare(await revisions.read(from), copy.files) : [],
      ...(copy.ok ? {} : { problems: copy.problems }),
      proposals: state.proposals.slice(-proposalsShown).reverse().map(shown),
    }
  }

  /** A revision that this agent has had to do with: no other's can be asked for by its hash. */
  async function named(agent: string, task: string, to: string): Promise<string> {
    if (to === 'active') return ledger.mustBeActive(agent).revision
    if (to === 'base') return base(agent, task)
    const { activations, proposals } = ledger.state(agent)
    const isOwn =
      activations.some(({ revision }) => revision === to) || proposals.some(({ revision }) => revision === to)
    if (!isOwn) throw new KernelError('not-found', `agent has no revision ${to}: see policy.status`)
    return to
  }

  return {
    base,
    read,

    /** Lays /policy for a new task; once it is recorded as laid, does nothing. */
    async lay(agent: string, box: PolicyBox, task: string): Promise<void> {
      if ((await laidAs(agent, task)) !== null) return
      await put(agent, box, task, ledger.mustBeActive(agent).revision)
    },

    status: (agent: string, task: string) => statusOf(agent, task, boxOf(agent, task)),

    async diff(agent: string, task: string): Promise<string> {
      const copy = await read(boxOf(agent, task))
      if (!copy.ok) throw unreadable(copy.problems)
      return revisions.diff(await revisions.read(ledger.mustBeActive(agent).revision), copy.files, diffBytesMax)
    },

    async reset(where: PolicyOrigin, to: string): Promise<PolicyStatus> {
      const { agent, task, box } = where
      const revision = await named(agent, task, to)
      const copy = await read(box)
      if (!copy.ok) throw unreadable(copy.problems)
      if (revisions.compare(await revisions.read(await base(agent, task)), copy.files).length > 0) {
        const { generation, turn, step } = where
        const context = {
          actor: 'kernel',
          task,
          run: runOf(agent),
          generation,
          turn,
          step,
          revision: where.revision,
        } as const
        await artifacts.put(agent, backupName, JSON.stringify(copy.files), context)
      }
      failpoint('policy:before-reset')
      await put(agent, box, task, revision)
      return statusOf(agent, task, box)
    },
  }
}

export type WorkingCopies = ReturnType<typeof createWorkingCopies>

function baseName(task: string): string {
  return `kernel/policy-base/${task}`
}

function folder(box: PolicyBox): string {
  if (box.mounts.policy === undefined) throw new KernelError('internal', `box ${box.label} has no /policy`)
  return box.mounts.policy
}

function unreadable(problems: readonly IntakeProblem[]): KernelError {
  const first = problems.slice(0, 5).map(({ path, problem }) => `${path}: ${problem}`)
  const more = problems.length > first.length ? ` (and ${problems.length - first.length} more)` : ''
  return new KernelError('invalid', `/policy cannot be read as a revision. Mend or remove: ${first.join('; ')}${more}`)
}

function shown(one: ProposalRecord): PolicyStatus['proposals'][number] {
  const failed = one.checks.filter(({ verdict, gates }) => gates && verdict !== 'pass')
  return {
    proposal: one.proposal,
    revision: one.revision,
    state: one.state,
    claim: one.claim,
    ...(one.reason === null ? {} : { reason: one.reason }),
    failedChecks: failed.map(({ check, summary }) => ({ check, summary })),
    ...(one.comments.length === 0 ? {} : { comments: one.comments.map((comment) => ({ ...comment })) }),
  }
}
