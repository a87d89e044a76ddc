import { parse } from 'diff2html/lib/diff-parser.js'
import { inertPieces } from './inert.ts'

// Small read-only previews of a unified diff. The text is parsed into lines and drawn by our own elements: no markup of it
// is ever made. Lines are never matched word by word, so that no text can make that take long.

const maxLength = 200_000
const maxFiles = 20
const maxLines = 60
const maxLineLength = 400
/** Never made of anything in the diff. */
const tooBig = () => 'too large for a preview'

export interface PreviewLine {
  kind: 'insert' | 'delete' | 'context'
  text: string
}
export interface PreviewFile {
  name: string
  added: number
  removed: number
  /** Each begins at a hunk. */
  blocks: { header: string; lines: PreviewLine[] }[]
  /** Lines that are not shown. */
  left: number
  isTooBig: boolean
}
export interface Preview {
  files: PreviewFile[]
  filesLeft: number
  /** Somewhere in all of it, shown or not, stands a character that hides or reorders text. */
  hasHidden: boolean
  /** Too long to be taken apart at all. */
  isTooLong: boolean
}

export function previewOf(diff: string): Preview {
  const hasHidden = inertPieces(diff).some((piece) => piece.isToken)
  if (diff.length > maxLength) return { files: [], filesLeft: 0, hasHidden, isTooLong: true }
  const parsed = parse(diff, { diffMaxChanges: 2000, diffMaxLineLength: 20_000, diffTooBigMessage: tooBig })
  const files = parsed.slice(0, maxFiles).map((file): PreviewFile => {
    let room = maxLines
    let left = 0
    const isTooBig = file.isTooBig === true
    const blocks = isTooBig
      ? []
      : file.blocks.flatMap(({ header, lines }) => {
          const shown = lines.slice(0, room)
          room -= shown.length
          left += lines.length - shown.length
          return shown.length === 0 ? [] : [{ header, lines: shown.map(({ type, content }) => lineOf(type, content)) }]
        })
    return {
      name: file.isDeleted || file.newName === '/dev/null' ? file.oldName : file.newName,
      added: file.addedLines,
      removed: file.deletedLines,
      blocks,
      left,
      isTooBig,
    }
  })
  return { files, filesLeft: parsed.length - files.length, hasHidden, isTooLong: false }
}

function lineOf(type: string, content: string): PreviewLine {
  const kind = type === 'insert' || type === 'delete' ? type : 'context'
  const text = content.slice(1)
  return { kind, text: text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text }
}
