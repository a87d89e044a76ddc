import type { ProfileChange, ProfileView } from '../../kernel/wire/operator-review.ts'
import { BadArguments, type Command, exitCode, parseCommand, wholeNumber } from './command.ts'
import { withDesk } from './desk.ts'
import { inert, say, sayJson, short, table } from './text.ts'

const hour = 60 * 60_000

export const profile: Command = {
  synopsis:
    '[show | set --reason TEXT [--check CHECK.gates=yes|no …] [--order CHECK,…] [--expires-hours N|never] [--probation-steps N]]',
  summary: 'show which checks a proposal is held to, or change that; only a person can',
  notes: [
    '--order names every check once, as they are to run. The first that gates and fails ends it.',
    '--check also takes CHECK.runs=yes|no and CHECK.THRESHOLD=NUMBER.',
    'A change ends the proposals that wait: they were checked under the old profile.',
  ],
  async run(args) {
    const options = {
      reason: { type: 'string' },
      check: { type: 'string', multiple: true },
      order: { type: 'string' },
      'expires-hours': { type: 'string' },
      'probation-steps': { type: 'string' },
    } as const
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['show|set?'])
    const [what = 'show'] = positionals
    if (what !== 'show' && what !== 'set')
      throw new BadArguments(`there are profile show and profile set, not ${JSON.stringify(what)}`)
    const reason = (values.reason as string | undefined) ?? ''
    if (what === 'set' && reason.trim() === '')
      throw new BadArguments('--reason is missing: who reads history wants to know why')
    const checks = ((values.check as string[] | undefined) ?? []).map(checkOf)
    const order = (values.order as string | undefined)?.split(',').map((name) => name.trim())
    const expires = values['expires-hours'] as string | undefined
    const steps = values['probation-steps'] as string | undefined
    const hours = expires === undefined || expires === 'never' ? null : wholeNumber('--expires-hours', expires, 1)
    const probationSteps = steps === undefined ? null : wholeNumber('--probation-steps', steps, 1)
    return withDesk(dataDir, async ({ desk }) => {
      const now = await desk.profile.get()
      if (what === 'show') {
        if (json) sayJson(now)
        else for (const line of profileLines(now)) say(line)
        return exitCode.done
      }
      const { seq } = await desk.profile.set({
        ...{ version: now.version, reason },
        ...(checks.length === 0 ? {} : { checks: merged(checks) }),
        ...(order === undefined ? {} : { order }),
        ...(expires === undefined ? {} : { expiresAfterMs: hours === null ? null : hours * hour }),
        ...(probationSteps === null ? {} : { probation: { ...now.probation, steps: probationSteps } }),
      })
      const after = await desk.profile.get()
      if (json) sayJson({ seq, version: after.version, hash: after.hash })
      else say(`The profile is at version ${after.version} (event ${seq}).`)
      return exitCode.done
    })
  },
}

type CheckChange = NonNullable<ProfileChange['checks']>[number]

function checkOf(text: string): CheckChange {
  const [, check, field, value] = /^([\w-]+)\.(\w+)=(\S+)$/.exec(text) ?? []
  const isFlag = field === 'gates' || field === 'runs'
  const number = Number(value)
  if (
    check === undefined ||
    field === undefined ||
    (isFlag ? !/^(yes|no)$/.test(value ?? '') : !Number.isFinite(number))
  )
    throw new BadArguments(
      `--check takes CHECK.gates=yes|no, CHECK.runs=yes|no or CHECK.THRESHOLD=NUMBER, not ${JSON.stringify(text)}`,
    )
  return isFlag ? { check, [field]: value === 'yes' } : { check, thresholds: { [field]: number } }
}

/** One for each check. */
function merged(changes: readonly CheckChange[]): CheckChange[] {
  const all = new Map<string, CheckChange>()
  for (const one of changes) {
    const before = all.get(one.check)
    const thresholds = { ...before?.thresholds, ...one.thresholds }
    all.set(one.check, { ...before, ...one, ...(Object.keys(thresholds).length === 0 ? {} : { thresholds }) })
  }
  return [...all.values()]
}

function profileLines({ version, hash, checks, probation, expiresAfterMs }: ProfileView): string[] {
  return [
    `version ${version} (${short(hash)})`,
    table(
      ['check', 'runs', 'gates', 'thresholds', 'what it looks at'],
      checks.map(({ check, runs, gates, thresholds, description }) => [
        check,
        runs ? 'yes' : 'no',
        gates ? 'yes' : 'no',
        Object.entries(thresholds)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ') || '—',
        inert(description),
      ]),
    ),
    `a proposal that waits expires ${expiresAfterMs === null ? 'never' : `after ${Math.round(expiresAfterMs / hour)} h`}`,
    `probation: ${Object.entries(probation)
      .map(([name, value]) => `${name} ${value ?? 'not watched'}`)
      .join(', ')}`,
  ]
}
