import type { Comment } from '../../../kernel/wire/events.ts'
import { inert } from '../../lib/inert.ts'
import { type Hunk, lineAfter, type Mark, type Side } from './hunks.ts'
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

/**
 * Comments as plain text below their lines; nothing in them is markup. Each is as high as its text, and stands even where
 * its line is folded away; in one column, one on what is gone stands where that was.
 */
export function showComments(diff: DiffEditor, comments: readonly Comment[], isSplit: boolean): () => void {
  const undo = comments.map((comment) => {
    const side = isSplit ? comment.side : 'after'
    const line = side === comment.side ? comment.line : lineAfter(diff.getLineChanges() ?? [], comment.line)
    return addZone(sideOf(diff, side), line, inert(comment.text))
  })
  return () => {
    for (const each of undo) each()
  }
}

function addZone(editor: SideEditor, afterLineNumber: number, text: string): () => void {
  const words = document.createElement('div')
  words.className = 'comment-words'
  words.textContent = text
  const domNode = document.createElement('div')
  domNode.className = 'comment-zone'
  domNode.append(words)
  const zone = { afterLineNumber, heightInPx: lineHeight + 4, domNode, showInHiddenAreas: true }
  let id = ''
  editor.changeViewZones((zones) => {
    id = zones.addZone(zone)
  })
  const fit = new ResizeObserver(() => {
    const height = words.offsetHeight
    if (height === 0 || height === zone.heightInPx) return
    zone.heightInPx = height
    editor.changeViewZones((zones) => zones.layoutZone(id))
  })
  fit.observe(words)
  return () => {
    fit.disconnect()
    editor.changeViewZones((zones) => zones.removeZone(id))
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
