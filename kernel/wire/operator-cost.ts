import { oc } from '@orpc/contract'
import { z } from 'zod'
import { requestItemKinds } from './events.ts'
import { agentName, count, proposalId, taskId } from './ids.ts'

/** What was spent, on what, and whether the prompt cache did its work. Every figure is of one scope, and of the kernel's own metering. */

export const costScopeSchema = z.discriminatedUnion('of', [
  z.strictObject({ of: z.literal('turn'), task: taskId, turn: count }),
  z.strictObject({ of: z.literal('task'), task: taskId }),
  z.strictObject({ of: z.literal('agent'), agent: agentName }),
  /** Since midnight where the host runs. */
  z.strictObject({ of: z.literal('today') }),
  z.strictObject({ of: z.literal('all') }),
])
export type CostScope = z.infer<typeof costScopeSchema>

const tokensOf = {
  uncached: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  /** Part of `output`. */
  reasoning: count,
}
const amount = {
  /** null: the price of a call in it is not known. */
  costNanoUsd: count.nullable(),
  /** Of the calls whose price is known. */
  knownNanoUsd: count,
}
const sums = {
  ...tokensOf,
  ...amount,
  calls: count,
  failed: count,
  unpriced: count,
  /** Calls of the simulator. */
  simulated: count,
  /** Calls whose tokens are an estimate, or of which none are known. */
  estimated: count,
  /** Calls whose provider did not say what it read from its cache: their `cacheRead` is 0 for want of it. */
  cacheUnreported: count,
}
const sumsSchema = z.object(sums)
export type CostSums = z.infer<typeof sumsSchema>
/** The rows beyond those that are listed, as one: how many. */
const others = count.optional()

const costPointSchema = z.object({
  /** Step from 1 on, or epoch ms; of a point that stands for several, the first. */
  from: z.number(),
  /** Steps in it. */
  calls: count,
  ...tokensOf,
  knownNanoUsd: count,
  unpriced: count,
  breaks: count,
  /** Tokens of the requests by part, as counted before they were sent. */
  ...{ instructions: count, tools: count, memory: count, messages: count, toolResults: count },
  /** Of a step; null: of several. */
  ...{ turn: count.nullable(), step: count.nullable(), activation: count.nullable(), seq: count.nullable() },
})
export type CostPoint = z.infer<typeof costPointSchema>

export const breakCauses = ['revision', 'setting', 'memory', 'model', 'policy', 'idle', 'unknown'] as const
const cacheBreakSchema = z.object({
  ...{
    seq: count,
    at: z.number(),
    task: z.string(),
    agent: z.string(),
    turn: count.nullable(),
    step: count.nullable(),
  },
  ...{ activation: count, model: z.string() },
  /** Position of the first item that differed from the request that it goes on from; null: none did. */
  item: count.nullable(),
  kind: z.enum(['instructions', 'tools', 'item', 'model', 'none']),
  what: z.enum(requestItemKinds).nullable(),
  cause: z.enum(breakCauses),
  /** What put it there, in plain words, and what to open: the event, the proposal. */
  because: z.string(),
  event: count.nullable(),
  proposal: proposalId.nullable(),
  idleMs: count.nullable(),
  /** Tokens that would have come from the cache, and what they cost more; estimated. null: not known. */
  missed: count.nullable(),
  missedNanoUsd: count.nullable(),
  /** Of the whole call. */
  costNanoUsd: count.nullable(),
})
export type CacheBreakRow = z.infer<typeof cacheBreakSchema>

const repeatSchema = z.object({
  ...{ task: z.string(), name: z.string(), arguments: z.string(), calls: count },
  /** Of the calls after the first: their steps' tokens and cost, in equal parts to each call of a step. */
  tokens: count,
  ...amount,
})
export type RepeatRow = z.infer<typeof repeatSchema>

const troubledSchema = z.object({
  ...{ seq: count, at: z.number(), task: z.string(), agent: z.string(), model: z.string() },
  status: z.enum(['completed', 'incomplete', 'failed', 'aborted']),
  usageSource: z.enum(['reported', 'estimated', 'none']),
  costNanoUsd: count.nullable(),
  /** What went wrong, or why the price is not known. */
  reason: z.string(),
})
export type TroubledRow = z.infer<typeof troubledSchema>

export const contextBlocks = ['instructions', 'tools', 'memory', 'messages', 'toolResults'] as const
const blockSchema = z.object({
  block: z.enum(contextBlocks),
  /** In every request together. */
  tokens: count,
  /** In the latest request; null: the scope has no single one. */
  latest: count.nullable(),
  /** What it has cost so far, estimated; null: it is not in every request, or a price in it is not known. */
  rentNanoUsd: count.nullable(),
})

const costReportSchema = z.object({
  scope: costScopeSchema,
  at: z.number(),
  /** Epoch ms; null: from the beginning. */
  since: z.number().nullable(),
  total: sumsSchema.extend({ turns: count }),
  byModel: z.array(sumsSchema.extend({ model: z.string(), others })),
  byRevision: z.array(
    /** Activation 0: of no revision (what the kernel asked by itself). */
    sumsSchema.extend({ agent: z.string(), activation: count, revision: z.string(), others }),
  ),
  byTask: z.array(sumsSchema.extend({ agent: z.string(), task: z.string(), others })),
  /** Each step's spend in equal parts among its tool calls. */
  byTool: z.array(
    z.object({
      /** '': steps without a tool call. */
      name: z.string(),
      purpose: z.enum(['task', 'check']),
      toolCalls: count,
      ...tokensOf,
      ...amount,
      others,
    }),
  ),
  series: z.object({
    unit: z.enum(['step', 'time']),
    /** Steps, or ms, in each point. */
    size: z.number(),
    points: z.array(costPointSchema),
  }),
  breaks: z.object({
    count,
    missed: count,
    missedNanoUsd: count,
    /** Of so many the cost is not known. */
    missedUnknown: count,
    rows: z.array(cacheBreakSchema),
  }),
  context: z.object({
    blocks: z.array(blockSchema),
    /** Calls whose rent is not known. */
    rentUnknown: count,
  }),
  /** Of all of each task's turns, but where the scope is a turn. */
  repeats: z.array(repeatSchema),
  troubled: z.array(troubledSchema),
  /** What counts against which limit. null: none. */
  caps: z.array(
    z.object({
      of: z.enum(['task', 'agent', 'day']),
      name: z.string(),
      ...{ limitNanoUsd: count.nullable(), spentNanoUsd: count, limitTokens: count.nullable(), spentTokens: count },
    }),
  ),
})
export type CostReport = z.infer<typeof costReportSchema>

const perMillion = z.number().nonnegative().nullable()
const priceInForceSchema = z.object({
  ...{ model: z.string(), baseUrl: z.string(), simulated: z.boolean() },
  /** USD per million tokens; null: not known. */
  ...{ input: perMillion, cachedInput: perMillion, cacheWrite: perMillion, output: perMillion },
  /** Longer prompts cost something else from so many tokens on. */
  above: z.array(z.object({ inputTokens: count, input: perMillion, output: perMillion })),
  since: z.string().nullable(),
  source: z.string().nullable(),
  /** Why there is none. */
  reason: z.string().nullable(),
  isOverride: z.boolean(),
})
export type PriceInForce = z.infer<typeof priceInForceSchema>

export const costContract = {
  report: oc.input(z.strictObject({ scope: costScopeSchema })).output(costReportSchema),
  /** Both texts around the place where they part, of a break; null: nothing stood there, or nothing differed. */
  difference: oc
    .input(z.strictObject({ seq: count }))
    .output(z.object({ before: z.string().nullable(), after: z.string().nullable() })),
  /** Of every model that a task has used, and every one that the operator has set. */
  prices: oc.output(z.object({ version: z.string(), rows: z.array(priceInForceSchema) })),
}
