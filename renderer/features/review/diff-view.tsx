import { useEffect, useRef, useState } from 'react'
import type { Comment } from '../../../kernel/wire/events.ts'
import { Skeleton } from '../../components/states.tsx'
import { useLook } from '../../lib/theme.ts'
import { splitFrom, themeOf } from './editor.ts'
import { type HunkView, markHunks, markLines, reportSeen, showComments, sideOf } from './editor-marks.ts'
import { FileModels } from './file-models.ts'
import type { Side } from './hunks.ts'
import { type KeptEditor, keptEditor, park } from './kept-editor.ts'
import type { DiffEditor, Monaco, SideEditor } from './load-monaco.ts'
import { operatorLines } from './operator-lines.ts'
import type { Sides } from './queries.ts'
import type { DiffSettings } from './settings.ts'

export interface Place {
  side: Side
  line: number
}

interface Props {
  path: string
  /** Files that are likely to be next: compared ahead. */
  ahead: readonly Sides[]
  /** Another file is on its way: what is here is not to be seen. */
  isHidden: boolean
  /** null: the file is not there on that side. */
  before: string | null
  /** As proposed. */
  after: string | null
  /** What the operator has made of it; undefined: nothing. */
  edited: string | undefined
  isEditing: boolean
  /** Too much changed for the finer comparison. */
  isLarge: boolean
  settings: DiffSettings
  hunks: readonly HunkView[]
  comments: readonly Comment[]
  /** Where to go; a new object each time. */
  reveal: Place | null
  onEdit: (text: string) => void
  onSeen: (side: Side, from: number, to: number) => void
  onCursor: (place: Place) => void
  /** Told whether both sides stand beside each other. */
  onSplit: (canSplit: boolean) => void
}

/** The page's diff editor, with one file in it. */
export function DiffView(props: Props) {
  const { path, isHidden, before, after, edited, isEditing, isLarge, settings, hunks, comments, reveal, ahead } = props
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<(KeptEditor & { models: FileModels }) | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [isApproximate, setApproximate] = useState(false)
  const [fits, setFits] = useState(true)
  const [computed, setComputed] = useState(0)
  const look = useLook()
  const isOneSided = before === null || after === null
  const isSplit = settings.sideBySide && !isOneSided && fits
  const latest = useRef({ ...props, isSplit })
  latest.current = { ...props, isSplit }
  const pending = useRef<Place | null>(null)
  /** What the editor holds: it may still be the file before. */
  const held = useRef<string | null>(null)

  useEffect(() => {
    editor?.monaco.editor.setTheme(themeOf(look))
  }, [editor, look])

  useEffect(() => {
    if (!editor) return
    editor.diff.updateOptions({
      ignoreTrimWhitespace: settings.ignoreWhitespace,
      hideUnchangedRegions: {
        enabled: settings.hideUnchanged && !isEditing,
        contextLineCount: 4,
        minimumLineCount: 3,
        revealLineCount: 10,
      },
      renderSideBySide: settings.sideBySide && !isOneSided,
      useInlineViewWhenSpaceIsLimited: true,
      wordWrap: settings.wrap ? 'on' : 'off',
      diffWordWrap: settings.wrap ? 'on' : 'off',
      diffAlgorithm: isLarge ? 'legacy' : 'advanced',
      experimental: { showMoves: settings.moves && settings.sideBySide && fits && !isLarge },
    })
    // In one column Monaco stops wrapping the side that it hides, and does not take that back.
    if (isSplit) editor.diff.getOriginalEditor().updateOptions({ wordWrapOverride2: 'inherit' })
  }, [editor, settings, isOneSided, isSplit, fits, isLarge, isEditing])

  useEffect(() => {
    editor?.diff.updateOptions({ readOnly: !isEditing, domReadOnly: !isEditing })
    if (isEditing) editor?.diff.getModifiedEditor().focus()
  }, [editor, isEditing])

  useEffect(() => {
    const element = host.current
    if (!element) return
    const resize = new ResizeObserver(([entry]) => setFits((entry?.contentRect.width ?? 0) > splitFrom))
    resize.observe(element)
    return () => resize.disconnect()
  }, [])

  useEffect(() => latest.current.onSplit(fits && !isOneSided), [fits, isOneSided])

  useEffect(() => {
    if (!editor) return
    const named = [
      keepName(editor.monaco, editor.diff.getOriginalEditor(), `${path}, before`),
      keepName(editor.monaco, editor.diff.getModifiedEditor(), `${path}, after`),
    ]
    return () => {
      for (const each of named) each.dispose()
    }
  }, [editor, path])

  useEffect(() => {
    if (!editor) return
    const modified = editor.models.show({ path, before, after })
    held.current = path
    const changed = modified.onDidChangeContent(() => {
      if (latest.current.isEditing) latest.current.onEdit(modified.getValue())
    })
    return () => changed.dispose()
  }, [editor, path, before, after])

  useEffect(() => editor?.models.prepare(ahead), [editor, ahead])

  // An edit that was dropped, or that comes back from a draft. While someone types the editor is ahead of what it has told,
  // and what it told last is never put back over what was typed since.
  useEffect(() => {
    if (isEditing) return
    const model = editor?.diff.getModifiedEditor().getModel()
    const text = edited ?? after ?? ''
    if (model && model.getValue() !== text) model.setValue(text)
  }, [editor, edited, after, isEditing])

  useEffect(() => {
    if (!editor || edited === undefined || after === null) return
    return markLines(editor.monaco, editor.diff.getModifiedEditor(), operatorLines(after, edited) ?? [])
  }, [editor, edited, after])

  useEffect(() => {
    if (!editor || edited !== undefined) return
    return markHunks(editor.monaco, editor.diff, hunks)
  }, [editor, hunks, edited])

  // The zones of a diff are laid out anew with each comparison: comments go in after it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once more with each comparison.
  useEffect(() => {
    if (comments.length === 0 || !editor?.diff.getModel()) return
    return showComments(editor.diff, comments, isSplit)
  }, [editor, comments, computed, isSplit])

  useEffect(() => {
    if (!editor || !reveal) return
    pending.current = reveal
    show(editor.diff, reveal)
  }, [editor, reveal])

  useEffect(() => {
    if (!editor) return
    const { diff } = editor
    let frame: number | undefined
    const report = () => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined
        const { hunks: shown, onSeen } = latest.current
        if (held.current !== latest.current.path || !diff.getModel() || !diff.getLineChanges()) return
        reportSeen(diff, latest.current.isSplit, shown, onSeen)
      })
    }
    const listeners = [
      diff.onDidUpdateDiff(() => {
        if (!diff.getModel()) return
        setApproximate(isCutShort(diff))
        setComputed((n) => n + 1)
        if (pending.current) show(diff, pending.current)
        pending.current = null
        report()
      }),
      ...(['before', 'after'] as const).flatMap((side) => [
        sideOf(diff, side).onDidScrollChange(report),
        sideOf(diff, side).onDidLayoutChange(report),
        sideOf(diff, side).onDidChangeCursorPosition(({ position }) =>
          latest.current.onCursor({ side, line: position.lineNumber }),
        ),
      ]),
    ]
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame)
      for (const each of listeners) each.dispose()
    }
  }, [editor])

  // Last, so that on leaving everything in the editor is undone before it is let go.
  useEffect(() => {
    const place = host.current
    let taken: (KeptEditor & { models: FileModels }) | undefined
    let isGone = false
    keptEditor().then(
      (kept) => {
        if (isGone || !place) return
        place.append(kept.element)
        taken = { ...kept, models: new FileModels(kept.monaco, kept.diff) }
        setEditor(taken)
      },
      (reason: unknown) => setError(String(reason)),
    )
    return () => {
      isGone = true
      taken?.models.dispose()
      if (taken?.element.parentNode === place) park(taken.element)
    }
  }, [])

  if (error) return <p className="tone-bad review-note">✗ The diff editor could not be loaded: {error}</p>
  return (
    <>
      {isApproximate && (
        <p className="tone-wait review-note" data-testid="approximate">
          ▲ Approximate diff: comparing took too long and was cut short. Every line is there, but what changed may be
          marked too widely.
        </p>
      )}
      {!editor && <Skeleton rows={8} />}
      <div
        ref={host}
        className={`review-editor ${sidesClass(before, after)} ${isLarge ? 'review-large' : ''}`}
        data-editing={isEditing || undefined}
        data-hidden={isHidden || undefined}
      />
    </>
  )
}

function sidesClass(before: string | null, after: string | null): string {
  if (before === null) return 'review-one-sided review-added'
  return after === null ? 'review-one-sided' : ''
}

function show(diff: DiffEditor, { side, line }: Place): void {
  const editor = sideOf(diff, side)
  const model = editor.getModel()
  if (!model) return
  const within = Math.min(Math.max(1, line), model.getLineCount())
  editor.setPosition({ lineNumber: within, column: 1 })
  editor.revealLineNearTop(within)
}

/** Not in Monaco's declared interface: whether the comparison was stopped for its time. */
function isCutShort(diff: DiffEditor): boolean {
  const inner = diff as DiffEditor & { getDiffComputationResult?: () => { quitEarly: boolean } | null }
  return diff.getLineChanges() === null || inner.getDiffComputationResult?.()?.quitEarly === true
}

/** Names one side for who cannot see it, and again whenever the diff editor forgets that name: it does with each layout. */
function keepName({ editor }: Monaco, side: SideEditor, name: string): { dispose(): void } {
  const { ariaLabel } = editor.EditorOption
  const set = () => {
    if (side.getOption(ariaLabel) !== name) side.updateOptions({ ariaLabel: name })
  }
  set()
  return side.onDidChangeConfiguration((event) => {
    if (event.hasChanged(ariaLabel)) set()
  })
}
