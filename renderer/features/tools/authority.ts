import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'

const words: Record<string, string> = {
  seed: 'the import',
  operator: 'you',
  rule: 'a rule',
  flag: 'a flag of the run',
  'last-good': 'kernel, last good',
}

const authors: Record<NonNullable<ToolRow['introduced']>['author'], string> = {
  seed: 'seed',
  agent: 'agent',
  operator: 'you',
  'agent-and-operator': 'agent and you',
}

/** Who made something, as the desk says it. */
export function authorOf({ author }: NonNullable<ToolRow['introduced']>): string {
  return authors[author]
}

/** By whose word something became active, as the desk says it. */
export function authorityOf(by: string): string {
  return words[by] ?? by
}
