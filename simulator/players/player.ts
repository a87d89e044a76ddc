/**
 * What a player is: the mind behind a simulated model. A pure function of the request, as a real model is of its prompt:
 * it looks at no file, no clock and no counter of its own, so that retries, replays and forks get the same answer.
 */
export type Player = (request: PlayerRequest, random: Random) => PlayerDecision

/** A request in one shape, whichever API it came by. */
export interface PlayerRequest {
  model: string
  instructions: string
  tools: OfferedTool[]
  items: Item[]
  seed: number
}

export interface OfferedTool {
  name: string
  /** `custom` tools take free text, `function` tools a JSON object. */
  type: 'function' | 'custom'
  description: string
  /** JSON schema of a function tool's arguments; empty for custom tools. */
  parameters: Record<string, unknown>
}

export type Item =
  | { type: 'message'; role: 'system' | 'developer' | 'user' | 'assistant'; text: string }
  | { type: 'call'; callId: string; name: string; arguments: string }
  | { type: 'output'; callId: string; text: string }
  | { type: 'reasoning'; text: string }

/** What the model says, in the order reasoning, text, calls. A decision with no text and no calls is an empty answer. */
export interface PlayerDecision {
  reasoning?: string
  text?: string
  /** `arguments`: an object for function tools, a string for custom tools (a string for a function tool is sent as it stands). */
  toolCalls?: { name: string; arguments: Record<string, unknown> | string }[]
}

/**
 * Draws that depend on the seed and a label alone, never on how many were drawn before: two runs that differ in one
 * decision stay comparable in all others.
 */
export interface Random {
  /** In [0, 1). */
  float(label: string): number
  /** 0 … n−1. */
  int(label: string, n: number): number
}

export interface RegisteredPlayer {
  play: Player
  contextWindow: number
  maxOutputTokens: number
}
