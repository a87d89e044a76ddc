import { isWorldTask, nextAction } from './hollowmere.ts'
import type { Player, PlayerDecision, PlayerRequest } from './player.ts'

/** Plays the world one action a step, and never thinks of its own source. */
export const playNovice: Player = (request) => {
  if (!isWorldTask(request)) return { text: 'I can only play the world that the `world` command reaches.' }
  return oneAction(request)
}

export function oneAction({ tools, items }: PlayerRequest): PlayerDecision {
  if (tools.length === 0) return { text: 'Go on: ask the world for its map and the skills, then play.' }
  const action = nextAction(items)
  if (action === 'complete')
    return { toolCalls: [{ name: 'complete', arguments: { summary: 'every skill is mastered' } }] }
  return { toolCalls: [{ name: 'shell', arguments: { command: action } }] }
}

/** Commands that were run through the shell tool, in order, with what they gave. */
export function shellCommands({ items }: PlayerRequest): { command: string; output: string }[] {
  const outputs = new Map(items.flatMap((item) => (item.type === 'output' ? [[item.callId, item.text] as const] : [])))
  return items.flatMap((item) => {
    if (item.type !== 'call' || item.name !== 'shell') return []
    const { command } = parse(item.arguments)
    return typeof command === 'string' ? [{ command, output: outputs.get(item.callId) ?? '' }] : []
  })
}

export function parse(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
