import { memo } from 'react'
import { inertPieces } from '../lib/inert.ts'

/** Words of an agent, a tool or a world: plain text, never markup, with hidden characters shown as tokens. */
export const InertText = memo(function InertText({ text, className }: { text: string; className?: string }) {
  const pieces = inertPieces(text)
  return (
    <span className={className ? `inert ${className}` : 'inert'} dir="ltr">
      {pieces.map((piece, index) =>
        piece.isToken ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one string have no identity but their place.
          <span key={index} className="hidden-character" title="A character that does not show, or that reorders text">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </span>
  )
})
