import { type KeyboardEvent, type PointerEvent, useState } from 'react'

export type Pane = 'files' | 'evidence'
type Widths = Record<Pane, number>

const stored = 'exodesk.review-panes'
/** px; the diff gets what they leave. */
const usual: Widths = { files: 208, evidence: 296 }
const [least, most] = [160, 560]
const step = 16

export interface Panes {
  widths: Widths
  isFolded: Record<Pane, boolean>
  fold: (pane: Pane) => void
  resize: (pane: Pane, width: number) => void
}

/** The panes beside the diff. Their widths are remembered; that one is folded is not, so that no proposal opens without its evidence. */
export function usePanes(): Panes {
  const [widths, setWidths] = useState(read)
  const [isFolded, setFolded] = useState({ files: false, evidence: false })
  return {
    widths,
    isFolded,
    fold: (pane) => setFolded((before) => ({ ...before, [pane]: !before[pane] })),
    resize: (pane, width) =>
      setWidths((before) => {
        const after = { ...before, [pane]: within(width) }
        localStorage.setItem(stored, JSON.stringify(after))
        return after
      }),
  }
}

/** Pulled with the pointer or moved by the arrow keys; a double click sets the usual width. */
export function Divider({ pane, panes }: { pane: Pane; panes: Panes }) {
  const { widths, isFolded, resize } = panes
  const direction = pane === 'files' ? 1 : -1
  const drag = (event: PointerEvent<HTMLHRElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
    resize(pane, widths[pane] + direction * event.movementX)
  }
  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -step, ArrowRight: step }[event.key]
    if (by === undefined) return
    event.preventDefault()
    resize(pane, widths[pane] + direction * by)
  }
  if (isFolded[pane]) return null
  return (
    <hr
      className={`divider divider-${pane}`}
      aria-orientation="vertical"
      aria-label={`Width of the ${pane}`}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={widths[pane]}
      tabIndex={0}
      onKeyDown={move}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onDoubleClick={() => resize(pane, usual[pane])}
    />
  )
}

function within(width: number): number {
  return Math.round(Math.min(most, Math.max(least, width)))
}

function read(): Widths {
  try {
    const kept = JSON.parse(localStorage.getItem(stored) ?? '{}') as Partial<Record<Pane, unknown>>
    const width = (pane: Pane) => {
      const value = kept[pane]
      return typeof value === 'number' && Number.isFinite(value) ? within(value) : usual[pane]
    }
    return { files: width('files'), evidence: width('evidence') }
  } catch {
    return usual
  }
}
