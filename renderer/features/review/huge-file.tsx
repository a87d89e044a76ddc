import { useEffect, useMemo, useRef, useState } from 'react'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { bytes, whole } from '../../lib/format.ts'
import type { ChangedFile } from './file-order.ts'
import { type Part, partsOf } from './tiers.ts'

interface Props {
  file: ChangedFile
  before: string | null
  after: string | null
  /** Where a hunk or a comment leads to. */
  reveal: { side: 'before' | 'after'; line: number } | null
  onWhole: () => void
}

interface SidePart extends Part {
  side: 'before' | 'after'
}

const shownLength = 2000

/** A file too large to compare on the screen: its size, how it begins and ends, and all of it in parts. */
export function HugeFile({ file, before, after, reveal, onWhole }: Props) {
  const parts = useMemo<SidePart[]>(
    () => [
      ...partsOf(after ?? '').map((part) => ({ ...part, side: 'after' as const })),
      ...partsOf(before ?? '').map((part) => ({ ...part, side: 'before' as const })),
    ],
    [before, after],
  )
  const [at, setAt] = useState<number | null>(null)
  const [read, setRead] = useState<ReadonlySet<number>>(() => new Set())
  const part = at === null ? undefined : parts[at]
  const isWhole = parts.length > 0 && read.size === parts.length
  const whenWhole = useRef(onWhole)
  whenWhole.current = onWhole
  useEffect(() => {
    if (isWhole) whenWhole.current()
  }, [isWhole])
  useEffect(() => {
    if (!reveal) return
    const found = parts.findIndex(
      (each) => each.side === reveal.side && each.fromLine <= reveal.line && reveal.line <= each.toLine,
    )
    if (found >= 0) setAt(found)
  }, [reveal, parts])
  // A part counts once its end has been on the screen.
  const end = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const element = end.current
    if (at === null || !element) return
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setRead((done) => new Set(done).add(at))
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [at])
  return (
    <div className="huge" data-testid="huge-file">
      <p className="tone-wait">
        ▲ Too large to compare on the screen: {sizeOf(before)} before, {sizeOf(after)} after, +{file.addedLines} −
        {file.removedLines}. Nothing is left out: it is shown in {whole(parts.length)} parts, and counts as viewed once
        all of them were.
      </p>
      <div className="huge-parts">
        <button type="button" className="button small" aria-pressed={at === null} onClick={() => setAt(null)}>
          Begin and end
        </button>
        <button
          type="button"
          className="button small"
          disabled={at === null || at === 0}
          onClick={() => setAt((at ?? 0) - 1)}
        >
          Previous part
        </button>
        <button
          type="button"
          className="button small"
          data-testid="next-part"
          disabled={at === parts.length - 1}
          onClick={() => setAt(at === null ? 0 : at + 1)}
        >
          {at === null ? 'First part' : 'Next part'}
        </button>
        <span className="muted" role="status">
          {part && `part ${(at ?? 0) + 1} of ${parts.length}: ${part.side}, lines ${part.fromLine}–${part.toLine} · `}
          {read.size} of {parts.length} read
        </span>
      </div>
      {part ? (
        <ScrollText key={at} label={`Part ${(at ?? 0) + 1}`} className="huge-text">
          <InertText text={part.text} />
          <span ref={end} className="huge-end" />
        </ScrollText>
      ) : (
        <ScrollText label="Begin and end" className="huge-text">
          <InertText text={edges(after ?? before ?? '')} />
        </ScrollText>
      )}
    </div>
  )
}

function edges(text: string): string {
  if (text.length <= 2 * shownLength) return text
  const left = text.length - 2 * shownLength
  return `${text.slice(0, shownLength)}\n\n… ${whole(left)} more characters, in the parts …\n\n${text.slice(-shownLength)}`
}

function sizeOf(text: string | null): string {
  if (text === null) return 'nothing'
  const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return `${whole(lines)} ${lines === 1 ? 'line' : 'lines'}, ${bytes(text.length)}`
}
