import type { Rule, RuleDraft } from '../../kernel/wire/operator-review.ts'
import { BadArguments, type Command, exitCode, parseCommand, wholeNumber } from './command.ts'
import { withDesk } from './desk.ts'
import { inert, say, sayJson, table, time } from './text.ts'

const linesByDefault = 40

export const rules: Command = {
  synopsis:
    '[preview | add [--agent A] [--tag T …] [--except PATH …] [--max-lines N] [--days N] | revoke R-n --reason TEXT]',
  summary: 'list what approves LOW proposals in runs with --approve rules; preview, add or revoke one',
  notes: [
    `A rule covers changes of at most --max-lines lines (default ${linesByDefault}) for --days (default 14). It stops after two that it let through regress.`,
    '--except names a file, or a folder that ends in /: a change of it is for a person. So is whatever is not LOW, was turned down before, or has a check that could not be decided.',
    'preview shows what it would have let through of the latest decided proposals, and how they were decided.',
  ],
  async run(args) {
    const options = {
      agent: { type: 'string' },
      tag: { type: 'string', multiple: true },
      except: { type: 'string', multiple: true },
      'max-lines': { type: 'string' },
      days: { type: 'string' },
      reason: { type: 'string' },
    } as const
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['preview|add|revoke?', 'R-n?'])
    const [what, rule] = positionals
    if (what !== undefined && !['preview', 'add', 'revoke'].includes(what))
      throw new BadArguments(`there are rules, rules preview, rules add and rules revoke, not ${JSON.stringify(what)}`)
    if (what === 'revoke') {
      const reason = values.reason as string | undefined
      if (rule === undefined) throw new BadArguments('R-n is missing')
      if (!reason?.trim()) throw new BadArguments('--reason is missing: why it is revoked')
      return withDesk(dataDir, async ({ desk }) => {
        const { seq } = await desk.rules.revoke({ rule, reason })
        if (json) sayJson({ rule, seq })
        else say(`${rule} is revoked (event ${seq})`)
        return exitCode.done
      })
    }
    if (rule !== undefined) throw new BadArguments(`unexpected argument ${JSON.stringify(rule)}`)
    const given = draftOf(values)
    return withDesk(dataDir, async ({ desk }) => {
      if (what === 'preview') {
        const { of, would } = await desk.rules.preview(given)
        if (json) sayJson({ of, would })
        else {
          say(`It would have let through ${would.length} of the latest ${of} decided proposals.`)
          for (const one of would) say(`  ${one.agent} ${one.proposal} (${one.state}): "${inert(one.claim, 80)}"`)
        }
      } else if (what === 'add') {
        const made = await desk.rules.add(given)
        if (json) sayJson(made)
        else say(`${made.rule} is active (event ${made.seq}). It decides in runs with --approve rules.`)
      } else {
        const all = await desk.rules.list()
        if (json) for (const one of all) sayJson(one)
        else say(all.length === 0 ? 'There is no rule: a person decides on every proposal.' : ruleTable(all))
      }
      return exitCode.done
    })
  },
}

function draftOf(values: { readonly [option: string]: unknown }): RuleDraft {
  const lines = values['max-lines'] as string | undefined
  const days = values.days as string | undefined
  return {
    agent: (values.agent as string | undefined) ?? null,
    tags: (values.tag as string[] | undefined) ?? [],
    except: (values.except as string[] | undefined) ?? [],
    maxChangedLines: lines === undefined ? linesByDefault : wholeNumber('--max-lines', lines, 1),
    ...(days === undefined ? {} : { days: wholeNumber('--days', days, 1) }),
  }
}

function ruleTable(all: readonly Rule[]): string {
  return table(
    ['rule', 'state', 'agent', 'tags', 'except', 'lines', 'until', 'hits', 'regressed'],
    all.map((one) => [
      one.rule,
      one.state,
      one.agent ?? 'any',
      one.tags.join(' ') || 'any',
      inert(one.except.join(' ')) || 'none',
      one.maxChangedLines,
      time(one.expiresAt),
      one.hits,
      one.regressions,
    ]),
  )
}
