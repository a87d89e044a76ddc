import { isWorldTask, nextAction } from './hollowmere.ts'
import type { Item, Player, PlayerDecision, PlayerRequest } from './player.ts'

/** Plays the world one action a step, and never thinks of its own source. */
export const playNovice: Player = (request) => {
  if (!isWorldTask(request)) return { text: 'I can only play the world that the `world` command reaches.' }
  return oneAction(request)
}

export function oneAction({ tools, items }: PlayerRequest): PlayerDecision {
  if (isSummaryAsked(items)) return { text: summary(items) }
  if (tools.length === 0) return { text: 'Go on: ask the world for its map and the skills, then play.' }
  const action = nextAction(items)
  if (action === 'complete')
    return { toolCalls: [{ name: 'complete', arguments: { summary: 'every skill is mastered' } }] }
  return { toolCalls: [{ name: 'shell', arguments: { command: action } }] }
}

/** The policy is about to shorten the context and wants words, not calls. */
export function isSummaryAsked(items: readonly Item[]): boolean {
  const last = items.at(-1)
  return (
    last?.type === 'message' && last.role === 'user' && last.text.startsWith('Your context is about to be shortened')
  )
}

const proposalsMade = /Proposals made: (\d+)/

function summary(items: readonly Item[]): string {
  return `I play the world with single actions. Its map and skills can be read again with world map and world skills. Proposals made: ${proposalsBefore(items) + callsOf(items, 'propose')}.`
}

/** Proposals that only a summary still tells of. */
export function proposalsBefore(items: readonly Item[]): number {
  const told = items.flatMap((item) =>
    item.type === 'message' && item.role === 'user' ? (proposalsMade.exec(item.text)?.[1] ?? []) : [],
  )
  return Number(told.at(-1) ?? 0)
}

export function callsOf(items: readonly Item[], name: string): number {
  return items.filter((item) => item.type === 'call' && item.name === name).length
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
