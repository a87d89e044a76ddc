import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type BreachLimits, limitsSchema } from '../../wire/operator-review.ts'
import { boot } from './boot.ts'
import type { Check } from './check.ts'
import { claim } from './claim.ts'
import { contextReplay } from './context-replay.ts'
import { leakage } from './leakage.ts'
import { scope } from './scope.ts'
import { staticCheck } from './static.ts'
import { tapeReplay } from './tape-replay.ts'
import { tests } from './tests.ts'
import { types } from './types.ts'

/** In order of cost, unless the profile says otherwise. */
const allChecks: readonly Check[] = [scope, staticCheck, claim, leakage, types, boot, tests, contextReplay, tapeReplay]

/** Checks that read what another has found, and so come after it. */
const reads: Readonly<Record<string, string>> = { claim: 'static', leakage: 'static', 'context-replay': 'static' }

const defaultLimits: BreachLimits = {
  steps: 10,
  errorRate: 0.5,
  costPerStep: 3,
  cachedShareDrop: 0.5,
  progressPerDollar: null,
}
const day = 24 * 60 * 60_000
const defaultExpiryMs = 7 * day

/** What a person has set, in place of what the checks bring. */
export const settingsSchema = z.object({
  checks: z.record(
    z.string(),
    z.object({
      gates: z.boolean().optional(),
      runs: z.boolean().optional(),
      thresholds: z.record(z.string(), z.number()).optional(),
    }),
  ),
  /** Names of checks; those that are not among them come last. */
  order: z.array(z.string()).optional(),
  probation: limitsSchema.optional(),
  expiresAfterMs: z.number().nullable().optional(),
})
export type Settings = z.infer<typeof settingsSchema>

export interface ProfileCheck extends Check {
  runs: boolean
  defaults: Readonly<Record<string, number>>
}

/** What a proposal is held to, and a revision in its probation. Any change of it, or of a check's rules, has another hash. */
export interface Profile {
  /** Settings included. */
  checks: readonly ProfileCheck[]
  probation: BreachLimits
  /** Of a proposal that waits; null: it never expires. */
  expiresAfterMs: number | null
  settings: Settings
  hash: string
}

const noSettings: Settings = { checks: {} }

/** @param steps of probation, where nobody has set them. */
export function profileOf(
  checks: readonly Check[] = allChecks,
  settings: Settings = noSettings,
  steps: number = defaultLimits.steps,
): Profile {
  const all = inOrder(checks, settings.order ?? []).map((check): ProfileCheck => {
    const { gates = check.gates, runs = true, thresholds = {} } = settings.checks[check.name] ?? {}
    const known = Object.entries(thresholds).filter(([name]) => Object.hasOwn(check.thresholds, name))
    const defaults = check.thresholds
    return { ...check, gates, runs, defaults, thresholds: { ...defaults, ...Object.fromEntries(known) } }
  })
  const probation = settings.probation ?? { ...defaultLimits, steps }
  const expiresAfterMs = settings.expiresAfterMs === undefined ? defaultExpiryMs : settings.expiresAfterMs
  const demands = all.map(({ name, rules, gates, runs, thresholds }) => ({ name, rules, gates, runs, thresholds }))
  const hash = createHash('sha256')
    .update(JSON.stringify({ checks: demands, probation, expiresAfterMs }))
    .digest('hex')
  return { checks: all, probation, expiresAfterMs, settings, hash }
}

function inOrder(checks: readonly Check[], order: readonly string[]): Check[] {
  const place = ({ name }: Check) => (order.includes(name) ? order.indexOf(name) : order.length)
  return checks.toSorted((a, b) => place(a) - place(b))
}

/** What is wrong with an order of these checks, in plain words; null: nothing. */
export function orderProblem(checks: readonly Pick<Check, 'name'>[], order: readonly string[]): string | null {
  const names = checks.map(({ name }) => name)
  const strange = order.find((name) => !names.includes(name))
  if (strange !== undefined) return `there is no check ${strange}: there are ${names.join(', ')}`
  const twice = order.find((name, index) => order.indexOf(name) !== index)
  if (twice !== undefined) return `${twice} stands in the order twice`
  const left = names.filter((name) => !order.includes(name))
  if (left.length > 0) return `the order leaves out ${left.join(', ')}: name every check once`
  for (const [name, first] of Object.entries(reads))
    if (order.indexOf(name) < order.indexOf(first) && order.includes(name))
      return `${name} reads what ${first} has found: it comes after it`
  return null
}
