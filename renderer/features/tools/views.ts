import type { ToolRow } from '../../../kernel/wire/operator-tools.ts'

/** What the table is narrowed to. */
const monthMs = 30 * 86_400_000
const failingFrom = 0.1

export const toolViews: { key: string; name: string; holds: (row: ToolRow, now: number) => boolean }[] = [
  { key: 'all', name: 'All', holds: () => true },
  { key: 'unaudited', name: 'Unaudited', holds: (row) => row.isOffered && row.audit !== 'audited' },
  { key: 'over', name: 'Over-privileged', holds: (row) => row.undeclared.length > 0 },
  { key: 'failing', name: 'Failing', holds: (row) => (failureShare(row) ?? 0) >= failingFrom },
  {
    key: 'unused',
    name: 'Unused 30 d',
    holds: (row, now) => row.isOffered && (row.lastUsedAt === null || now - row.lastUsedAt > monthMs),
  },
]

/** Of all calls that came to an end; null: none did. */
export function failureShare({ calls, errors, interrupted }: ToolRow): number | null {
  return calls === 0 ? null : (errors + interrupted) / calls
}

type Column = (row: ToolRow) => string | number | null

export const columns = {
  tool: (row) => row.tool,
  origin: (row) => row.origin,
  since: (row) => row.introduced?.activation ?? null,
  week: (row) => row.callsLast7Days,
  ok: (row) => {
    const failed = failureShare(row)
    return failed === null ? null : 1 - failed
  },
  median: (row) => row.medianMs,
  cost: (row) => row.costShare,
  used: (row) => row.lastUsedAt,
  tests: (row) => row.tests,
  audit: (row) => ['stale', 'none', 'audited'].indexOf(row.audit),
} satisfies Record<string, Column>
export type ColumnKey = keyof typeof columns

export interface Order {
  by: ColumnKey
  isDown: boolean
}

/** Rows of the view whose name, file or description has the words, in order; what has no figure comes last either way. */
export function shownRows(
  rows: readonly ToolRow[],
  { view, words, order, now }: { view: string; words: string; order: Order; now: number },
): ToolRow[] {
  const holds = toolViews.find(({ key }) => key === view)?.holds ?? (() => true)
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const value: Column = columns[order.by]
  return rows
    .filter((row) => holds(row, now))
    .filter((row) => {
      const text = `${row.tool} ${row.file ?? ''} ${row.description} ${row.origin}`.toLowerCase()
      return wanted.every((word) => text.includes(word))
    })
    .sort((a, b) => {
      const [x, y] = [value(a), value(b)]
      if (x === null || y === null) return Number(x === null) - Number(y === null) || compare(a.tool, b.tool)
      return (order.isDown ? -1 : 1) * compare(x, y) || compare(a.tool, b.tool)
    })
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** `exec` of `sandbox.exec`; others keep their whole name. */
export function reachName(reach: string): string {
  return reach.replace(/^sandbox\./, '')
}
