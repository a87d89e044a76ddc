const words: Record<string, string> = {
  seed: 'the import',
  operator: 'you',
  rule: 'a rule',
  flag: 'a flag of the run',
  'last-good': 'kernel, last good',
}

/** By whose word something became active, as the desk says it. */
export function authorityOf(by: string): string {
  return words[by] ?? by
}
