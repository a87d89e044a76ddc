import type { Effect } from '../../kernel/wire/operator-effects.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, exitCode } from './command.ts'
import { withDesk } from './desk.ts'
import { say, sayJson, table } from './text.ts'

export const effects: Command = {
  synopsis: '[--agent A]',
  summary: 'show what each activation was said to bring and brought, and whether it has repaid the making of it',
  notes: ['Medians over steps, with how many. Better and worse mean that the intervals of 95 % do not overlap.'],
  async run(args) {
    const { named, dataDir, json } = parseAgentCommand(args, {})
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      const all = await desk.revisions.effects({ agent })
      if (json) for (const one of all) sayJson(one)
      else {
        say(table(['', 'effect', 'before → after', 'making of it', ''], all.map(rowOf)))
        for (const { activation, breakEven } of all) if (breakEven) say(`r${activation}: ${breakEven.basis}`)
      }
      return exitCode.done
    })
  },
}

export const keep: Command = {
  synopsis: 'rN --reason TEXT [--agent A]',
  summary: 'leave a revision that has gone beyond its limits as it is',
  notes: ['Its probation is over, and the notice goes. The breach stays in the ledger.'],
  async run(args) {
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, { reason: { type: 'string' } }, [
      'rN',
    ])
    const [which] = positionals as [string]
    const activation = Number(which.slice(1))
    const reason = values.reason as string | undefined
    if (!reason?.trim()) throw new BadArguments('--reason is missing: why it stays')
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      const { seq } = await desk.revisions.keep({ agent, activation, reason })
      if (json) sayJson({ agent, activation, seq })
      else say(`${which} of ${agent} stays (event ${seq})`)
      return exitCode.done
    })
  },
}

function rowOf({ activation, verdict, judgedBy, before, after, breakEven, regressed }: Effect): string[] {
  const usd = (figure: Effect['after']['costNanoUsd']) =>
    figure === null ? '—' : `$${(figure.value / 1e9).toPrecision(3)} (n=${figure.n})`
  const repaid =
    breakEven === null || breakEven.savedNanoUsd === null
      ? ''
      : breakEven.isRepaid
        ? `repaid at step ${breakEven.atStep}`
        : breakEven.atStep === null
          ? 'not repaid, and never at this rate'
          : `not repaid; at this rate after ${breakEven.atStep} steps`
  const about = judgedBy === null ? verdict : `${verdict} by ${judgedBy}`
  return [
    `r${activation}`,
    about,
    `${usd(before.costNanoUsd)} → ${usd(after.costNanoUsd)} a step`,
    repaid,
    regressed?.isOpen === true ? 'regressed' : '',
  ]
}
