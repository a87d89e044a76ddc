import type { Item, Player, PlayerDecision } from './player.ts'

type ToolCall = NonNullable<PlayerDecision['toolCalls']>[number]

/**
 * The same player, who errs in a share of decisions: repeats the last call, or writes a command wrongly. What it draws for a
 * decision depends on how far the request has come, so that a retry errs alike and a player can see and mend its error.
 */
export function withNoise(play: Player, rate: number): Player {
  return (request, random) => {
    const decision = play(request, random)
    const [first, ...others] = decision.toolCalls ?? []
    const place = request.items.filter(({ type }) => type === 'output').length
    if (first === undefined || random.float(`noise ${place}`) >= rate) return decision
    const last = request.items.findLast((item) => item.type === 'call')
    const erring = random.float(`noise kind ${place}`) < 0.5 && last !== undefined ? again(last) : misspelt(first)
    return { ...decision, toolCalls: [erring, ...others] }
  }
}

function again(call: Extract<Item, { type: 'call' }>): ToolCall {
  return { name: call.name, arguments: call.arguments }
}

/** Without the last letter of its first word-like argument: `world go fores`. */
function misspelt(call: ToolCall): ToolCall {
  if (typeof call.arguments === 'string') return { ...call, arguments: call.arguments.slice(0, -1) }
  const [name, value] = Object.entries(call.arguments).find(([, given]) => typeof given === 'string') ?? []
  if (name === undefined) return { ...call, name: `${call.name}s` }
  return { ...call, arguments: { ...call.arguments, [name]: String(value).slice(0, -1) } }
}
