import { type ParseArgsConfig, type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { dataDirOf } from '../data-dir.ts'

/** Exit codes of every command (architecture: hosts and the command line). */
export const exitCode = { done: 0, doesNotHold: 1, badArguments: 2, cannotRun: 3 } as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

export interface Command {
  /** Arguments after the command's name, as the usage shows them. */
  synopsis: string
  /** One line for the list of commands. */
  summary: string
  /** Further lines of its own usage. */
  notes?: readonly string[]
  run(args: string[]): Promise<ExitCode>
}

/** What the caller wrote cannot be understood; the message says what to write instead. */
export class BadArguments extends Error {}

/** A command that ends for a reason which its user can act on, with the code for it. */
export class Ended extends Error {
  readonly code: ExitCode
  constructor(code: ExitCode, message: string) {
    super(message)
    this.code = code
  }
}

const common = { data: { type: 'string' }, json: { type: 'boolean', default: false } } as const

export interface Arguments {
  /** Options by name, as the caller wrote them. */
  values: { readonly [option: string]: unknown }
  positionals: string[]
  /** Absolute. */
  dataDir: string
  json: boolean
}

/**
 * The arguments of a command, with `--data` and `--json` that every command takes.
 * @param names of the positional arguments; one that ends in `?` may be absent.
 * @throws BadArguments for an unknown option, a missing value, too few or too many arguments.
 */
export function parseCommand(
  args: string[],
  options: Record<string, ParseArgsOptionDescriptor>,
  names: readonly string[] = [],
): Arguments {
  const { values, positionals } = parse({
    args,
    options: { ...common, ...options },
    allowPositionals: true,
    strict: true,
  })
  const needed = names.filter((name) => !name.endsWith('?'))
  if (positionals.length < needed.length) throw new BadArguments(`${needed[positionals.length]} is missing`)
  if (positionals.length > names.length)
    throw new BadArguments(`unexpected argument ${JSON.stringify(positionals[names.length])}`)
  return { values, positionals, dataDir: dataDirOf(values.data as string | undefined), json: values.json === true }
}

function parse(config: ParseArgsConfig): { values: { readonly [option: string]: unknown }; positionals: string[] } {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message } = error as Error
    // Of a value that looks like an option Node says only that it is ambiguous.
    const option = /^Option '(--[\w-]+)' argument is ambiguous/.exec(message)?.[1]
    if (option !== undefined) throw new BadArguments(startsWithDash(option, config.args ?? []))
    // Node's message goes on about `--`, which helps nobody here.
    throw new BadArguments(message.split('. To specify')[0] ?? '')
  }
}

function startsWithDash(option: string, args: readonly string[]): string {
  const value = args.find((each, index) => each.startsWith('-') && args[index - 1] === option) ?? ''
  if (/^-[\d.]/.test(value)) return `${option} takes an amount of 0 or more, not ${JSON.stringify(value)}`
  return `${option} is given without its value: ${JSON.stringify(value)} follows it; a value that starts with a dash is written ${option}=VALUE`
}

/** @throws BadArguments unless `text` is a whole number of at least `least`. */
export function wholeNumber(option: string, text: string, least = 0): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
    throw new BadArguments(`${option} takes a whole number of at least ${least}, not ${JSON.stringify(text)}`)
  return value
}

/** Dollars as written, in nano-dollars; no floating-point step in between. @throws BadArguments */
export function nanoUsd(option: string, text: string): number {
  const parts = /^(\d{1,6})(?:\.(\d{1,9}))?$/.exec(text)
  if (parts === null)
    throw new BadArguments(
      `${option} takes an amount in dollars such as 2 or 0.50 (with a point, and no sign), not ${JSON.stringify(text)}`,
    )
  return Number(parts[1]) * 1_000_000_000 + Number((parts[2] ?? '').padEnd(9, '0'))
}

/** @throws BadArguments unless `text` is one of `words`. */
export function oneOf<const W extends string>(
  option: string,
  text: string | undefined,
  words: readonly W[],
): W | undefined {
  if (text === undefined) return undefined
  const word = words.find((candidate) => candidate === text)
  if (word === undefined) throw new BadArguments(`${option} is one of ${words.join(', ')}, not ${JSON.stringify(text)}`)
  return word
}
