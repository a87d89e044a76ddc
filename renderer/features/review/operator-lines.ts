import { diffLines } from 'diff'

/** Lines of the edited text that the operator wrote, 1-based; null: too much changed to tell in time. */
export function operatorLines(agents: string, edited: string): number[] | null {
  const changes = diffLines(agents, edited, { timeout: 500 })
  if (!changes) return null
  const lines: number[] = []
  let line = 1
  for (const { added, removed, count } of changes) {
    if (removed) continue
    if (added) for (let n = 0; n < count; n++) lines.push(line + n)
    line += count
  }
  return lines
}
