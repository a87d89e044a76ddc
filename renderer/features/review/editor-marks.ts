import type { Comment } from '../../../kernel/wire/events.ts'
import { inert } from '../../lib/inert.ts'
import type { Hunk, Mark, Side } from './hunks.ts'
import type { DiffEditor, Monaco, SideEditor } from './load-monaco.ts'

// What stands in the editor beside the text: hunks and their marks, lines of the operator, comments.

export interface HunkView {
  hunk: Hunk
  mark: Mark | null
  isCurrent: boolean
}

export function sideOf(diff: DiffEditor, side: Side): SideEditor {
  return side === 'before' ? diff.getOriginalEditor() : diff.getModifiedEditor()
}

/** A bar along each hunk, on both sides, in the colour and shape of its mark. */
export function markHunks({ Range }: Monaco, diff: DiffEditor, hunks: readonly HunkView[]): () => void {
  const collections = (['before', 'after'] as const).map((side) =>
    sideOf(diff, side).createDecorationsCollection(
      hunks.flatMap(({ hunk, mark, isCurrent }) => {
        const [from, lines] =
          side === 'before' ? [hunk.beforeLine, hunk.beforeLines] : [hunk.afterLine, hunk.afterLines]
        if (lines === 0) return []
        return [
          {
            range: new Range(from, 1, from + lines - 1, 1),
            options: {
              isWholeLine: true,
              marginClassName: `hunk-mark hunk-${mark ?? 'open'}${isCurrent ? ' hunk-current' : ''}`,
            },
          },
        ]
      }),
    ),
  )
  return () => {
    for (const each of collections) each.clear()
  }
}

export function markLines({ Range }: Monaco, editor: SideEditor, lines: readonly number[]): () => void {
  const collection = editor.createDecorationsCollection(
    lines.map((line) => ({
      range: new Range(line, 1, line, 1),
      options: { isWholeLine: true, marginClassName: 'operator-line', className: 'operator-line-text' },
    })),
  )
  return () => collection.clear()
}

const columns = 88

/** Comments as plain text below their lines; nothing in them is markup. */
export function showComments(diff: DiffEditor, comments: readonly Comment[]): () => void {
  const undo = (['before', 'after'] as const).map((side) => {
    const editor = sideOf(diff, side)
    const ids: string[] = []
    editor.changeViewZones((zones) => {
      for (const comment of comments.filter((each) => each.side === side)) {
        const text = inert(comment.text)
        const domNode = document.createElement('div')
        domNode.className = 'comment-zone'
        domNode.textContent = text
        const heightInLines = text
          .split('\n')
          .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0.25)
        ids.push(zones.addZone({ afterLineNumber: comment.line, heightInLines, domNode }))
      }
    })
    return () =>
      editor.changeViewZones((zones) => {
        for (const id of ids) zones.removeZone(id)
      })
  })
  return () => {
    for (const each of undo) each()
  }
}

/** Hands over which lines of each side are on the screen. In one column, what is gone stands between the lines of the new text. */
export function reportSeen(
  diff: DiffEditor,
  isSplit: boolean,
  hunks: readonly HunkView[],
  onSeen: (side: Side, from: number, to: number) => void,
): void {
  const modified = diff.getModifiedEditor()
  for (const range of modified.getVisibleRanges()) onSeen('after', range.startLineNumber, range.endLineNumber)
  if (isSplit) {
    for (const range of diff.getOriginalEditor().getVisibleRanges())
      onSeen('before', range.startLineNumber, range.endLineNumber)
    return
  }
  const top = modified.getScrollTop()
  const bottom = top + modified.getLayoutInfo().height
  for (const { hunk } of hunks) {
    if (hunk.beforeLines === 0) continue
    const after = hunk.afterLines > 0 ? hunk.afterLine - 1 : hunk.afterLine
    const start = after === 0 ? 0 : modified.getBottomForLineNumber(after)
    const end = hunk.afterLines > 0 ? modified.getTopForLineNumber(hunk.afterLine) : undefined
    const height = end !== undefined && end > start ? (end - start) / hunk.beforeLines : lineHeight
    const from = Math.max(0, Math.ceil((top - start) / height))
    const to = Math.min(hunk.beforeLines, Math.floor((bottom - start) / height))
    if (to > from) onSeen('before', hunk.beforeLine + from, hunk.beforeLine + to - 1)
  }
}

const lineHeight = 18
