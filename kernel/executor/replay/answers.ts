import { KernelError } from '../../errors.ts'
import type { History } from '../../history/history.ts'
import type { BudgetState, Gateway } from '../../models/models.ts'
import { sha256 } from '../../store/chain.ts'
import type { EventData, ModelChoice } from '../../wire/events.ts'
import type { ModelCallParams, ModelCallResult, TaskBrief } from '../../wire/executor.ts'
import { OpenCalls } from '../calls.ts'
import type { InboundCall, Methods } from '../channel.ts'
import type { PolicyService, TaskSandbox } from '../executor.ts'
import { type Api, composition, conversationField, type Item, itemTokens, requestItems } from '../items.ts'
import { methodsOf } from '../methods/methods.ts'
import { toolName, withoutTools } from '../methods/offered.ts'
import { References } from '../references.ts'
import type { ExecutorParts, Running } from '../running.ts'
import type { ReplayedTask } from './points.ts'
import { artifactsAt, historyAt, type Moment } from './view.ts'

export interface ReplayParts
  extends Pick<
    ExecutorParts,
    'history' | 'artifacts' | 'revisions' | 'gateway' | 'provider' | 'clock' | 'tokens' | 'timings' | 'quarantine'
  > {
  /** What a task tells its policy to do. */
  instructionOf: (created: EventData<'task.created'>) => string
}

/** Whom a replayed policy believes to work for. */
export interface Part {
  agent: string
  revision: string
  brief: TaskBrief
  model: ModelChoice
}

/** A request as the kernel would have stored it. */
export interface CapturedRequest {
  items: { kind: 'instructions' | 'tools' | 'item'; hash: string; json: string; tokens: number }[]
  composition: ReturnType<typeof composition>
}

/** Of the tools that it offers. */
export function toolNames({ items }: CapturedRequest): string[] {
  const tools = items.find(({ kind }) => kind === 'tools')
  const given: unknown = tools === undefined ? [] : JSON.parse(tools.json)
  return (Array.isArray(given) ? given : []).flatMap((tool) => toolName(tool) ?? [])
}

/** What a replay answers in place of the sandbox; what is absent is refused. */
export interface ReplaySandbox {
  run?: TaskSandbox['run']
  /** Gives the error of a refusal. */
  onRefused?: (what: string) => KernelError
}

/**
 * The kernel's own methods over history as it was at a moment: reads are answered from what was recorded, writes are
 * swallowed, and what only a sandbox could answer is refused and noted in `refused`. A model call goes to `onModelCall`.
 */
export async function replayMethods(
  parts: ReplayParts,
  part: Part,
  moment: Moment,
  onModelCall: (request: CapturedRequest, call: InboundCall) => Promise<ModelCallResult>,
  sandbox: ReplaySandbox = {},
): Promise<{ methods: Methods; refused: string[]; references: References }> {
  const refused: string[] = []
  const history = historyAt(parts.history, moment)
  const references = new References(history, part.agent, moment.task)
  const refuse = (what: string) => async (): Promise<never> => {
    refused.push(what)
    const error = sandbox.onRefused?.(what)
    throw error ?? new KernelError('unavailable', `${what} cannot be had in a replay: only what was recorded is there`)
  }
  const budget = await budgetAt(history, moment.task, part.brief.limits)
  const gateway: Partial<Gateway> = { budget: () => budget }
  const known = { ...parts, history, gateway: gateway as Gateway }
  const running = runningAt(known, part, moment, sandbox.run ?? refuse('a command'), refuse)
  const methods: Methods = {
    ...methodsOf(running, () => undefined),
    async 'model.call'(params, call) {
      return onModelCall(await captured(parts, part, references, params), call)
    },
    'task.complete': async () => ({ accepted: false, message: 'this is a replay: nothing is completed' }),
    'task.ask': async () => ({ asked: true }),
    'sandbox.write': async ({ text }) => ({ hash: sha256(text) }),
  }
  return { methods, refused, references }
}

/** @throws KernelError `invalid` as the real call would. */
async function captured(
  { gateway, tokens, quarantine }: ReplayParts,
  { agent, model }: Part,
  references: References,
  params: ModelCallParams,
): Promise<CapturedRequest> {
  const { api, body } = params
  if (api !== model.api) throw new KernelError('invalid', `api: this task's model speaks ${model.api}`)
  const field = conversationField[api]
  const given = body[field]
  const items = await references.resolve(Array.isArray(given) ? given : given === undefined ? [] : [given])
  const offered = withoutTools(body, await quarantine.of(agent))
  const whole = Array.isArray(given) ? { ...offered, [field]: items.map(({ value }) => value) } : { ...offered }
  gateway.requireAllowed(model, whole)
  const request = requestOf(api, offered, items, tokens)
  for (const { kind, hash, json } of request.items) if (kind !== 'tools') references.add(hash, json)
  return request
}

/** What a request consists of, in stored order, with the tokens of each item. */
export function requestOf(
  api: Api,
  body: Readonly<Record<string, unknown>>,
  items: readonly Item[],
  tokens: ReplayParts['tokens'],
): CapturedRequest {
  const stored = requestItems(api, body, items).map(({ kind, json }) => ({
    kind,
    json,
    hash: sha256(json),
    tokens: kind === 'tools' ? tokens.count(json) : itemTokens(JSON.parse(json), tokens),
  }))
  return { items: stored, composition: composition(api, body, items, tokens) }
}

function runningAt(
  parts: ReplayParts,
  part: Part,
  moment: Moment,
  run: TaskSandbox['run'],
  refuse: (what: string) => () => Promise<never>,
): Running {
  const { agent, revision, brief, model } = part
  const { history } = parts
  const artifacts = artifactsAt(parts.artifacts, moment, () => parts.clock.now())
  const files = {
    readFile: refuse('a file of the sandbox'),
    writeFile: refuse('a write'),
    list: refuse('a folder of the sandbox'),
  }
  const taskSandbox: TaskSandbox = {
    run,
    startJob: refuse('a command'),
    jobs: () => [],
    logs: refuse('the log of a job'),
    killJob: refuse('a job'),
    snapshot: refuse('a snapshot'),
    restore: refuse('a snapshot'),
    snapshots: async () => [],
  }
  const memory = {
    calls: new OpenCalls(history, parts.clock, agent),
    references: new References(history, agent, moment.task),
    storedBytes: 0,
    sentItems: new Set<string>(),
    // A replay compares what is sent, not what of it is memory.
    kept: { texts: async () => [], changed: () => undefined },
  }
  const running: Running = {
    parts: { ...parts, artifacts, files, policy: () => policyAt(parts, part, refuse) },
    spec: {
      ...{ agent, revision, run: 'check', activation: 1 },
      task: {
        ...{ task: moment.task, brief, model, sandbox: taskSandbox },
        box: { label: moment.task, mounts: {}, workdir: brief.workdir },
        complete: async () => ({ accepted: false, message: '' }),
        ask: async () => undefined,
        nextStep: async () => moment.step,
        refused: () => undefined,
        waitsForBudget: () => undefined,
      },
    },
    generation: 0,
    memory,
    place: (actor) => ({ actor, agent, task: moment.task, run: 'check' }),
    turn: () => 0,
    step: () => moment.step,
    beginStep: async () => moment.step,
    exclusively: (work) => work(),
    overBudget: async () => undefined,
    takePendingEvents: () => 0,
    openStream: () => {
      throw new KernelError('unavailable', 'nothing is streamed in a replay')
    },
    closeStream: () => undefined,
  }
  return running
}

/** The revision that is replayed is the active one, as it would be once it has taken over. */
function policyAt(
  { revisions }: ReplayParts,
  { revision }: Part,
  refuse: (what: string) => () => Promise<never>,
): PolicyService {
  const status = { active: { revision, activation: 1 }, base: revision, changed: [], proposals: [] }
  return {
    status: async () => status,
    async read(_agent, path) {
      const file = (await revisions.read(revision)).find((one) => one.path === path)
      if (file === undefined) throw new KernelError('not-found', `the active revision has no file ${path}`)
      return file.text
    },
    diff: async () => '',
    propose: refuse('a proposal'),
    withdraw: refuse('a proposal'),
    reset: refuse('a reset of /policy'),
  }
}

/** What was left of the task's own budgets then. */
async function budgetAt(history: History, task: string, limits: TaskBrief['limits']): Promise<BudgetState> {
  const [spent, raises] = await Promise.all([
    history.totals({ task }),
    history.read({ agent: null }, { kinds: ['budget.raised'], task, limit: 1000 }),
  ])
  const limitOf = (budget: 'usd' | 'tokens', first: number | null): number | null =>
    raises.events.reduce<number | null>(
      (limit, event) => (event.kind === 'budget.raised' && event.data.budget === budget ? event.data.to : limit),
      first,
    )
  return {
    limitNanoUsd: limitOf('usd', limits.budgetNanoUsd),
    limitTokens: limitOf('tokens', limits.budgetTokens),
    spentNanoUsd: spent.costNanoUsd ?? 0,
    spentTokens: spent.uncached + spent.cacheRead + spent.cacheWrite + spent.output,
    reservedNanoUsd: 0,
    reservedTokens: 0,
  }
}

/** What a task's executor is told at its start. */
export function briefOf(
  { gateway, instructionOf }: ReplayParts,
  { task, created, model }: Pick<ReplayedTask, 'task' | 'created' | 'model'>,
): TaskBrief {
  return {
    task,
    instruction: instructionOf(created),
    workdir: created.workdir,
    model: { name: model.name, api: model.api, ...gateway.describe(model) },
    propose: created.propose,
    limits: created.limits,
  }
}

/** The request that was sent then, as far as it is an item list: other fields of the body are not stored. */
export async function recordedRequest(parts: ReplayParts, api: Api, id: number): Promise<CapturedRequest> {
  const { items } = await parts.history.getRequest(id)
  const texts = await Promise.all(items.map(async ({ hash }) => (await parts.history.getBlob(hash)).toString('utf8')))
  const body: Record<string, unknown> = {}
  const conversation: Item[] = []
  for (const [index, { kind }] of items.entries()) {
    const json = texts[index] ?? 'null'
    const value: unknown = JSON.parse(json)
    if (kind === 'tools') body.tools = value
    else if (kind === 'instructions' && typeof value === 'string') body.instructions = value
    else conversation.push({ value, json })
  }
  return requestOf(api, body, conversation, parts.tokens)
}
