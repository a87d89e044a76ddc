import type { ParseArgsOptionDescriptor } from 'node:util'
import type { Desk } from '../host-client.ts'
import { type Arguments, BadArguments, Ended, exitCode, parseCommand } from './command.ts'

const shapes: Readonly<Record<string, { shape: RegExp; what: string }>> = {
  'P-n': { shape: /^P-\d+$/, what: 'a proposal such as P-1' },
  rN: { shape: /^r\d+$/, what: 'an activation such as r1' },
}

/**
 * The arguments of a command about one agent, which every such command is told by `--agent A`.
 * @throws BadArguments also for an agent given as a word, with what to write instead.
 */
export function parseAgentCommand(
  args: string[],
  options: Record<string, ParseArgsOptionDescriptor>,
  names: readonly string[] = [],
): Arguments & { named: string | undefined } {
  const of = names.map((name) => shapes[name.replace('?', '')])
  const words = parseCommand(args, { agent: { type: 'string' }, ...options }, [...names.map(optional), 'AGENT?'])
  const { positionals } = words
  const stray = positionals.find((word, index) => of[index]?.shape.test(word) === false)
  const tooMany = positionals[names.length]
  if (tooMany !== undefined && (stray !== undefined || names.length === 0)) {
    const agent = stray ?? tooMany
    const others = positionals.filter((word) => word !== agent)
    throw new BadArguments(`the agent is given as --agent: write ${[...others, '--agent', agent].join(' ')}`)
  }
  if (stray !== undefined)
    throw new BadArguments(
      `${JSON.stringify(stray)} is not ${of[positionals.indexOf(stray)]?.what} (an agent is given as --agent)`,
    )
  const { values } = parseCommand(args, { agent: { type: 'string' }, ...options }, names)
  return { ...words, named: values.agent as string | undefined }
}

const optional = (name: string) => (name.endsWith('?') ? name : `${name}?`)

/** The one that is named, or the only one. @throws Ended, BadArguments where that is not clear. */
export async function agentOf(desk: Desk, named: string | undefined): Promise<string> {
  if (named !== undefined) return named
  const all = await desk.agents.list()
  if (all.length === 1 && all[0] !== undefined) return all[0].agent
  if (all.length === 0)
    throw new Ended(exitCode.doesNotHold, 'there is no agent yet: one comes into being with its first task')
  throw new BadArguments(`--agent is missing: there are ${all.map(({ agent }) => agent).join(', ')}`)
}
