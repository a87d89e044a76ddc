import { createTwoFilesPatch } from 'diff'

/** Comparing may hold up the page for this long, ms. */
const timeLimitMs = 500

/** A unified diff of two texts without file names; null: they are the same, or comparing them takes too long. */
export function diffTexts(before: string, after: string): string | null {
  if (before === after) return null
  const patch = createTwoFilesPatch('before', 'after', before, after, '', '', { context: 4, timeout: timeLimitMs })
  if (patch === undefined) return null
  const lines = patch.split('\n')
  return lines
    .slice(lines.findIndex((line) => line.startsWith('@@')))
    .join('\n')
    .trimEnd()
}
