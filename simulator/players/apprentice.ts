import { isWorldTask } from './hollowmere.ts'
import { callsOf, isSummaryAsked, oneAction, parse, proposalsBefore, shellCommands } from './novice.ts'
import type { Item, Player, PlayerDecision, PlayerRequest, Random } from './player.ts'
import { roundDescription, roundTool, type ToolWishes } from './round-tool.ts'

/** Times that it must have unloaded before it sees that it goes in rounds. */
const roundsToNotice = 3
const attemptsMost = 3

/**
 * Plays the world as the novice does, notices that it goes in rounds, and, where the prompt tells of /policy, writes a tool
 * that plays a round, proposes it, and uses it once it is in its list of tools. Told why a proposal fell, it mends that.
 */
export const playApprentice: Player = (request, random) => {
  if (!isWorldTask(request)) return { text: 'I can only play the world that the `world` command reaches.' }
  if (isSummaryAsked(request.items)) return oneAction(request)
  return withTool(request) ?? improve(request, random) ?? oneAction(request)
}

/** A call of an offered tool that plays rounds, unless its last two calls have brought nothing. */
function withTool({ tools, items }: PlayerRequest): PlayerDecision | null {
  const tool = tools.find((offered) => offered.description === roundDescription)
  if (tool === undefined) return null
  const results = items.flatMap((item, index) =>
    item.type === 'call' && item.name === tool.name ? [{ index, text: outputOf(items, item.callId) }] : [],
  )
  const useless = results.slice(-2).filter(({ text }) => text.startsWith('error:') || !/\d+\/\d+/.test(text))
  if (useless.length === 2) return null
  if (results.at(-1)?.text.startsWith('every skill is mastered')) return null
  const last = results.at(-1)
  // A status line of the tool is read like any other: all mastered, and it is time to say so.
  if (last !== undefined && last.index >= items.length - 2 && allMastered(last.text)) return null
  return { toolCalls: [{ name: tool.name, arguments: { rounds: 1 } }] }
}

function allMastered(status: string): boolean {
  const skills = status.trim().split('; ').at(-1) ?? ''
  const amounts = [...skills.matchAll(/(\d+)\/(\d+)/g)]
  return amounts.length > 0 && amounts.every(([, have, full]) => have === full)
}

/** The next step of an edit of its own source; null while there is none to make. */
function improve(request: PlayerRequest, random: Random): PlayerDecision | null {
  const { items, instructions, tools } = request
  const canPropose = tools.some((tool) => tool.name === 'propose')
  const told = instructions.includes('/policy')
  if (!canPropose || !told) return null
  const shell = shellCommands(request)
  if (shell.filter(({ command }) => command === 'world unload').length < roundsToNotice) return null
  if (!shell.some(({ command }) => command.includes('/policy/SELF.md'))) {
    return {
      reasoning: 'I repeat the same round of actions. A tool could play a round in one call; my source is at /policy.',
      toolCalls: [{ name: 'shell', arguments: { command: 'cat /policy/SELF.md' } }],
    }
  }
  if (proposalsBefore(items) > 0) return null
  const proposals = callsOf(items, 'propose')
  const objections = items.flatMap(objectionOf)
  if (proposals >= attemptsMost || objections.length < proposals) return null
  const wishes = wishesOf(objections, random)
  const path = `/policy/tools/${wishes.name}.ts`
  const source = roundTool(wishes)
  const written = items.some(
    (item) =>
      item.type === 'call' &&
      item.name === 'write' &&
      parse(item.arguments).path === path &&
      parse(item.arguments).text === source,
  )
  if (!written) return { toolCalls: [{ name: 'write', arguments: { path, text: source } }] }
  const entry = `export { tool as ${wishes.name} } from './${wishes.name}.ts'`
  const listing = `sed -i '/round_/d' /policy/tools/index.ts && echo "${entry}" >> /policy/tools/index.ts && find /policy/tools -name 'round_*' ! -name '${wishes.name}.ts' -delete`
  if (!shell.some(({ command }) => command === listing)) {
    return { toolCalls: [{ name: 'shell', arguments: { command: listing } }] }
  }
  const mended = objections.at(-1)
  return {
    toolCalls: [
      {
        name: 'propose',
        arguments: {
          claim: `One call of ${wishes.name} plays a whole round that takes about ten calls now`,
          why:
            mended === undefined
              ? `The same round of actions has been played ${roundsToNotice} times, one call each.`
              : `${wishes.isUnderstood ? 'Mended' : 'Only noted in the file, since I know no other way'}: ${mended}`.slice(
                  0,
                  1000,
                ),
        },
      },
    ],
  }
}

const rejected = /(?:rejected|returned) P-\d+(?: for changes)?: ([\s\S]*?)\n/
const failed = /^P-\d+ stops: check \S+ (?:failed|could not decide): ([\s\S]*)/

function objectionOf(item: Item): string[] {
  if (item.type !== 'message' || item.role !== 'user') return []
  const reason = rejected.exec(item.text)?.[1] ?? failed.exec(item.text)?.[1]
  return reason === undefined ? [] : [reason.trim()]
}

/** Reads what the reasons ask for: another name, a bound. What it cannot read it only notes in the file, and says so. */
function wishesOf(objections: readonly string[], random: Random): ToolWishes & { isUnderstood: boolean } {
  const verbs = ['play', 'run', 'work', 'make', 'walk', 'do', 'finish', 'drive']
  const wishes = {
    isUnderstood: true,
    name: `round_${verbs[random.int('tool verb', verbs.length)]}_${random.int('tool number', 900) + 100}`,
    mostActions: null as number | null,
    remark: null as string | null,
  }
  for (const objection of objections) {
    const before = `${wishes.name} ${wishes.mostActions}`
    const name = /(?:call it|rename (?:it )?to|name it)\s+`?([a-z]\w*_\w+)`?/i.exec(objection)?.[1]
    if (name !== undefined) wishes.name = name.startsWith('round_') ? name : `round_${name.toLowerCase()}`
    else if (/\bnamed?\b|\bcalled\b/i.test(objection)) wishes.name = 'round_out_and_back'
    const bound = /(?:most|more than|bound|limit|cap)\D{0,40}?(\d+)/i.exec(objection)?.[1]
    if (bound !== undefined) wishes.mostActions = Math.max(10, Number(bound))
    else if (/bound|limit|cap\b|endless|forever|loop/i.test(objection)) wishes.mostActions = 40
    wishes.isUnderstood = before !== `${wishes.name} ${wishes.mostActions}`
    wishes.remark = objection
  }
  return wishes
}

function outputOf(items: readonly Item[], callId: string): string {
  const output = items.find((item) => item.type === 'output' && item.callId === callId)
  return output?.type === 'output' ? output.text : ''
}
