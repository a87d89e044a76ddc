/** Where a key moves the cursor; null: it is no such key. */
export function cursorAfter(key: string, index: number | null, points: number): number | null {
  if (points === 0) return null
  if (key === 'Home') return 0
  if (key === 'End') return points - 1
  if (key === 'ArrowRight') return Math.min(points - 1, index === null ? 0 : index + 1)
  return key === 'ArrowLeft' ? Math.max(0, index === null ? points - 1 : index - 1) : null
}
