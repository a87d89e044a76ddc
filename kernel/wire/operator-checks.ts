import { z } from 'zod'
import { count } from './ids.ts'

/** What the kernel's own checks of a proposal leave in the `details` of their events; the desk shows it. */

const riskTier = z.enum(['LOW', 'MED', 'HIGH', 'KERNEL'])

/** What a program can reach or do, as its syntax tree says. */
export const capabilityKinds = [
  /** Modules and globals that open connections. */
  'network',
  /** Processes, threads. */
  'process-start',
  /** Code that is chosen or made while it runs. */
  'code-loading',
  'filesystem',
  /** Its own process: environment, streams, exit. */
  'process',
  'inspector',
  /** Access to members by way of `Reflect`, `Proxy` or prototypes. */
  'reflection',
  /** A method of the executor's wire. */
  'wire',
  /** Runs commands in the task sandbox. */
  'exec',
  /** A command line that it composes, of a kind to look at twice. */
  'command',
  /** Keeps something beyond the turn. */
  'persistence',
  /** Tries again after a failure, or waits for a change. */
  'retry',
  /** A loop without a bound, or with model calls in it. */
  'loop',
  /** Text that a model reads. */
  'prompt',
  /** A tool that is defined. */
  'tool',
  /** Decides by which task it runs. */
  'identity',
  /** Turns encoded data into text. */
  'decoding',
] as const
export type CapabilityKind = (typeof capabilityKinds)[number]

const factSchema = z.strictObject({
  kind: z.enum(capabilityKinds),
  /** `node:net`, `policy.withdraw`, the first words of a prompt. */
  what: z.string(),
  path: z.string(),
  /** 1-based, of the side that has it. */
  line: count,
})
export type Fact = z.infer<typeof factSchema>

export const knobUnits = [
  ...(['turns', 'tokens', 'effort', 'time', 'retries', 'polling', 'money', 'limit'] as const),
  /** The model is told of something: of what is left, or of what the operator says. */
  'notice',
] as const

/** A constant that decides how much is spent. */
const knobSchema = z.strictObject({
  name: z.string(),
  unit: z.enum(knobUnits),
  /** null: was not there, or is no more. A word for an effort. */
  before: z.union([z.number(), z.string()]).nullable(),
  after: z.union([z.number(), z.string()]).nullable(),
  /** As before, `path` and `line` are of the new side where it is there. */
  path: z.string(),
  line: count,
  how: z.enum(['changed', 'renamed', 'moved', 'new', 'removed']),
  /** The change lets a task spend more. */
  buysBudget: z.boolean(),
})
export type Knob = z.infer<typeof knobSchema>

/** Parts of a policy, as the kernel tags them by path and by what their source does. */
export const componentTags = ['tool', 'prompt', 'context', 'memory', 'model', 'loop', 'control', 'test', 'doc'] as const
export type ComponentTag = (typeof componentTags)[number]
/** What a reviewer reads a change as: words, tools, or the machinery. */
export const componentTracks = ['guidance', 'tools', 'control'] as const

export const fileRiskSchema = z.strictObject({
  path: z.string(),
  risk: riskTier,
  reasons: z.array(z.string()),
  tags: z.array(z.enum(componentTags)),
})
export type FileRisk = z.infer<typeof fileRiskSchema>

/** Of the check `static`. `version` rises with what a reader must know of. */
export const staticDetailsSchema = z.object({
  version: z.literal(1),
  /** What makes it fail: it cannot be read as it stands. */
  problems: z.array(z.strictObject({ path: z.string(), line: count, problem: z.string() })),
  /** Against the base, counted over the whole tree, so that what moved is neither. */
  /** `isNew`: nothing had it before, or its file was there and had it not. */
  gained: z.array(factSchema.extend({ isNew: z.boolean() })),
  lost: z.array(factSchema),
  knobs: z.array(knobSchema),
  files: z.array(
    fileRiskSchema.extend({
      change: z.enum(['added', 'changed', 'removed']),
      /** The program is the same: only comments and layout differ. */
      isSameProgram: z.boolean(),
    }),
  ),
  tracks: z.array(z.enum(componentTracks)),
  risk: riskTier,
  reasons: z.array(z.string()),
  /** More was found than is listed. */
  isCut: z.boolean(),
})
export type StaticDetails = z.infer<typeof staticDetailsSchema>

export const claimKinds = [
  'comments-only',
  /** What it says comes about in something that runs. */
  'effect',
  'same-behaviour',
  'reverted',
  'tests-added',
  'tests-pass',
  'only-files',
  'untouched',
  'touched',
] as const

/** Of the check `claim`: what the agent says of its change, and what the change says. */
export const claimDetailsSchema = z.object({
  version: z.literal(1),
  statements: z.array(
    z.strictObject({
      /** The words, as the agent wrote them. */
      text: z.string(),
      from: z.enum(['claim', 'why']),
      kind: z.enum(claimKinds),
      verdict: z.enum(['true', 'false', 'not-decided']),
      /** What was found. */
      found: z.string(),
    }),
  ),
})
export type ClaimDetails = z.infer<typeof claimDetailsSchema>

/** Of the check `leakage`: words of a task in the source of the policy. */
export const leakageDetailsSchema = z.object({
  version: z.literal(1),
  leaks: z.array(
    z.strictObject({
      path: z.string(),
      line: count,
      /** Whose words: `instruction of T-3`, `tests of the pack`. */
      of: z.string(),
      kind: z.enum(['copied', 'reworded', 'id', 'identity', 'grader']),
      text: z.string(),
    }),
  ),
  /** How many texts it was held against, and those that could not be had. */
  protectedTexts: count,
  missing: z.array(z.string()),
})
export type LeakageDetails = z.infer<typeof leakageDetailsSchema>
