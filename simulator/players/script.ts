import type { Item, Player, PlayerDecision } from './player.ts'

/**
 * Replays decisions given in the prompt: the first ```script fence in a user message, else in the instructions, holds a
 * JSON array of `{ reasoning?, text?, toolCalls? }`. The next decision follows from the tool outputs already in the
 * request, so a retry gets the same decision and a compaction that drops outputs goes back.
 */
export const playScript: Player = ({ instructions, items }) => {
  const sources = [...items.filter((item) => item.type === 'message' && item.role === 'user').map(textOf), instructions]
  const script = sources
    .map((source) => /```script\n([\s\S]*?)\n```/.exec(source)?.[1])
    .find((found) => found !== undefined)
  if (script === undefined)
    return { text: 'sim-script: the prompt has no ```script fence with a JSON array of decisions.' }
  const decisions = parseScript(script)
  if (typeof decisions === 'string') return { text: `sim-script: ${decisions}` }
  return nextDecision(decisions, items) ?? { text: 'sim-script: the script has ended.' }
}

function nextDecision(decisions: PlayerDecision[], items: Item[]): PlayerDecision | undefined {
  let outputs = items.filter((item) => item.type === 'output').length
  const said = items.filter((item) => item.type === 'message' && item.role === 'assistant').map(textOf)
  return decisions.find((decision) => {
    const calls = decision.toolCalls?.length ?? 0
    // Words alone leave no tool output behind: such a decision is over once its very text is in the request.
    if (calls === 0) {
      const spoken = said.indexOf(decision.text ?? '')
      if (spoken >= 0) said.splice(spoken, 1)
      return spoken < 0
    }
    if (calls > outputs) return true
    outputs -= calls
    return false
  })
}

function textOf(item: Item): string {
  return item.type === 'call' ? item.arguments : item.text
}

function parseScript(script: string): PlayerDecision[] | string {
  let parsed: unknown
  try {
    parsed = JSON.parse(script)
  } catch (error) {
    return `the script is not JSON: ${error instanceof Error ? error.message : error}`
  }
  if (!Array.isArray(parsed)) return 'the script is not a JSON array'
  const wrong = parsed.findIndex((decision) => !isDecision(decision))
  if (wrong >= 0) return `decision ${wrong} is not { reasoning?, text?, toolCalls?: [{ name, arguments }] }`
  return parsed
}

function isDecision(value: unknown): value is PlayerDecision {
  if (typeof value !== 'object' || value === null) return false
  const { reasoning, text, toolCalls, ...rest } = value as Record<string, unknown>
  const isText = (field: unknown) => field === undefined || typeof field === 'string'
  const isCall = (call: unknown) =>
    typeof call === 'object' &&
    call !== null &&
    'name' in call &&
    typeof call.name === 'string' &&
    'arguments' in call &&
    (typeof call.arguments === 'string' || (typeof call.arguments === 'object' && call.arguments !== null))
  const areCalls = toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isCall))
  return isText(reasoning) && isText(text) && areCalls && Object.keys(rest).length === 0
}
