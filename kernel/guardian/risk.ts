import type { TreeFile } from '../sandbox/sandbox.ts'
import type { EventData } from '../wire/events.ts'
import { type Fact, type FileRisk, type Knob, staticDetailsSchema } from '../wire/operator-checks.ts'
import { isForbidden, isTest } from './checks/charter.ts'
import { changesOf, type Delta } from './checks/delta.ts'
import { kernelFileNames } from './checks/scope.ts'

export type Tier = FileRisk['risk']
const tiers: readonly Tier[] = ['LOW', 'MED', 'HIGH', 'KERNEL']

interface Judged<F> {
  risk: Tier
  /** The gravest first; each leads with what it is about. */
  reasons: string[]
  files: (F & { risk: Tier; reasons: string[] })[]
}

interface ChangedFile {
  path: string
  change: 'added' | 'changed' | 'removed'
  isSameProgram: boolean
}

/**
 * How carefully a change should be read, file by file. LOW: text, comments, data. MED: what a program does. HIGH: reach,
 * spending, what outlives a turn, its own tests, the guardian, the entry point. KERNEL: what the charter keeps from an agent.
 */
export function assess<F extends ChangedFile>(
  files: readonly F[],
  delta: Pick<Delta, 'gained' | 'lost' | 'knobs'>,
  /** Files that the program imports. */
  loaded: ReadonlySet<string> = new Set(),
): Judged<F> {
  const judged = files.map((file) => {
    const found = reasonsOf(file, delta, loaded.has(file.path))
    const risk = found.reduce<Tier>((gravest, [tier]) => graver(gravest, tier), 'LOW')
    const reasons = found.sort(([a], [b]) => tiers.indexOf(b) - tiers.indexOf(a)).map(([, reason]) => reason)
    return { ...file, risk, reasons: [...new Set(reasons)].slice(0, 20) }
  })
  const risk = judged.reduce<Tier>((gravest, one) => graver(gravest, one.risk), 'LOW')
  const byTier = tiers.toReversed().flatMap((tier) => judged.filter((one) => one.risk === tier))
  const reasons = byTier.flatMap(({ path, reasons }) => reasons.map((reason) => `${reason} (${path})`))
  return { risk, reasons: reasons.slice(0, 30), files: judged }
}

/**
 * Of a proposal, from what its static check left; without it nobody has read the code, and that is reason enough.
 */
export function riskOf(
  from: readonly TreeFile[],
  to: readonly TreeFile[],
  checks: readonly { check: string; details: unknown }[],
): Pick<EventData<'proposal.readied'>, 'risk' | 'reasons'> & { files: FileRisk[] } {
  const read = staticDetailsSchema.safeParse(checks.find(({ check }) => check === 'static')?.details)
  if (read.success) {
    const { risk, reasons, files } = read.data
    return { risk, reasons, files: files.map(({ path, risk, reasons, tags }) => ({ path, risk, reasons, tags })) }
  }
  const files = changesOf(from, to).map(({ path }): FileRisk => {
    if (isText(path)) return { path, risk: 'LOW', reasons: ['only text changes'], tags: [] }
    return { path, risk: 'HIGH', reasons: ['changes code that the static check has not read'], tags: [] }
  })
  const risk = files.reduce<Tier>((gravest, one) => graver(gravest, one.risk), 'LOW')
  return { risk, reasons: files.map(({ path, reasons }) => `${reasons[0]} (${path})`).slice(0, 30), files }
}

const isText = (path: string): boolean => /\.(?:md|txt)$/.test(path)
export const graver = (a: Tier, b: Tier): Tier => (tiers.indexOf(b) > tiers.indexOf(a) ? b : a)

/** What is said of one file by a line of its own: of the side before where it is gone, else of the side after. */
export function reasonsByLine(
  path: string,
  { gained, lost, knobs }: Pick<Delta, 'gained' | 'lost' | 'knobs'>,
): { side: 'before' | 'after'; line: number; risk: Tier; reason: string }[] {
  const own = <T extends { path: string }>(all: readonly T[]) => all.filter((one) => one.path === path)
  return [
    ...own(gained).map((fact) => {
      const [risk, reason] = gain(fact)
      return { side: 'after' as const, line: fact.line, risk, reason }
    }),
    ...own(knobs).map((knob) => ({
      side: knob.how === 'removed' ? ('before' as const) : ('after' as const),
      ...{ line: knob.line, risk: knobTier(knob), reason: knobReason(knob) },
    })),
    ...own(lost)
      .filter(({ kind }) => kind !== 'prompt')
      .map(({ line, what }) => ({
        side: 'before' as const,
        line,
        risk: 'MED' as const,
        reason: `no longer has ${what}`,
      })),
  ]
}

const knobTier = ({ buysBudget }: Knob): Tier => (buysBudget ? 'HIGH' : 'MED')

function reasonsOf(
  { path, change, isSameProgram }: ChangedFile,
  { gained, lost, knobs }: Pick<Delta, 'gained' | 'lost' | 'knobs'>,
  isLoaded: boolean,
) {
  const found: [Tier, string][] = []
  if (kernelFileNames.includes(path)) found.push(['KERNEL', 'is a file that the kernel writes'])
  if (isForbidden(path)) found.push(['KERNEL', 'is kept from the agent by its charter'])
  if (isText(path)) return [...found, ['LOW', 'only text changes'] as [Tier, string]]
  if (isTest(path)) found.push(['HIGH', 'changes its own tests'])
  if (isSameProgram && found.length === 0) return [['LOW', 'only comments and layout change'] as [Tier, string]]
  if (path === 'main.ts') found.push(['HIGH', 'changes main.ts, which the kernel starts'])
  const own = <T extends { path: string }>(all: readonly T[]) => all.filter((one) => one.path === path)
  for (const fact of own(gained)) found.push(gain(fact))
  for (const knob of own(knobs)) found.push([knobTier(knob), knobReason(knob)])
  const losses = [
    ...new Set(
      own(lost)
        .filter(({ kind }) => kind !== 'prompt')
        .map(({ what }) => what),
    ),
  ]
  if (losses.length > 0) found.push(['MED', `no longer has ${losses.slice(0, 5).join(', ')}`])
  if (path.endsWith('.json'))
    found.push(isLoaded ? ['MED', 'changes data that the program loads'] : ['LOW', 'only data changes'])
  else found.push(['MED', change === 'removed' ? 'removes code' : change === 'added' ? 'adds code' : 'changes code'])
  return found
}

const words: Partial<Record<Fact['kind'], string>> = {
  network: 'reaches for the network',
  'process-start': 'starts processes or threads',
  'code-loading': 'loads code while it runs',
  filesystem: 'reads or writes files of its box',
  process: 'touches its own process',
  inspector: 'looks into the running engine',
  reflection: 'reaches members in a roundabout way',
  command: 'composes a command that',
  persistence: 'keeps something beyond the turn',
  retry: 'tries again',
  loop: 'loops',
  identity: 'decides by which task it runs',
}

/** What these do is not undone with a file of the sandbox. */
const actsBeyond = /^(?:task|model)\.|^sandbox\.(?:restore|snapshot)$/

function gain({ kind, what, line, isNew }: Delta['gained'][number]): [Tier, string] {
  const at = `line ${line}`
  const word = words[kind]
  if (word !== undefined) return ['HIGH', `${word}: ${what}, ${at}`]
  if (kind === 'wire' && what.startsWith('policy.')) return ['HIGH', `asks the guardian: ${what}, ${at}`]
  if (kind === 'wire' || kind === 'exec')
    return isNew
      ? ['HIGH', `asks the kernel for what it did not before: ${what}, ${at}`]
      : [actsBeyond.test(what) ? 'HIGH' : 'MED', `uses ${what} in one more place, ${at}`]
  if (kind === 'prompt') return ['MED', `tells the model: ${JSON.stringify(what)}, ${at}`]
  return ['MED', kind === 'tool' ? `offers the tool ${what}, ${at}` : `decodes data: ${what}, ${at}`]
}

function knobReason({ name, unit, before, after, line, buysBudget }: Knob): string {
  const lead = buysBudget ? 'may use more' : 'changes a setting'
  return `${lead}: ${name} (${unit}) goes from ${before ?? 'not set'} to ${after ?? 'not set'}, line ${line}`
}
