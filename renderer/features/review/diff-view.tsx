import { useEffect, useRef, useState } from 'react'
import { Skeleton } from '../../components/states.tsx'
import { useIsDark } from '../../lib/theme.ts'
import { loadMonaco } from './load-monaco.ts'

type Monaco = typeof import('./monaco.ts')['monaco']
type DiffEditor = ReturnType<Monaco['editor']['createDiffEditor']>
type Side = ReturnType<DiffEditor['getOriginalEditor']>

export interface DiffSettings {
  hideUnchanged: boolean
  ignoreWhitespace: boolean
  sideBySide: boolean
  wrap: boolean
}

interface Props {
  path: string
  /** null: the file is not there on that side. */
  before: string | null
  after: string | null
  settings: DiffSettings
  /** Told whether there are two sides and room for both. */
  onCanSplit: (canSplit: boolean) => void
}

/** Up to this width, px, the editor shows one column. */
const splitFrom = 680

/** One read-only diff editor, reused from file to file. */
export function DiffView({ path, before, after, settings, onCanSplit }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<{ monaco: Monaco; diff: DiffEditor } | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [isApproximate, setApproximate] = useState(false)
  const isDark = useIsDark()
  const isOneSided = before === null || after === null
  const sidesClass = before === null ? 'review-one-sided review-added' : isOneSided ? 'review-one-sided' : ''

  useEffect(() => {
    editor?.monaco.editor.setTheme(isDark ? 'exodesk-dark' : 'exodesk-light')
  }, [editor, isDark])

  useEffect(() => {
    if (!editor) return
    editor.diff.updateOptions({
      ignoreTrimWhitespace: settings.ignoreWhitespace,
      hideUnchangedRegions: { enabled: settings.hideUnchanged, contextLineCount: 4, minimumLineCount: 3 },
      renderSideBySide: settings.sideBySide && !isOneSided,
      useInlineViewWhenSpaceIsLimited: true,
      wordWrap: settings.wrap ? 'on' : 'off',
      diffWordWrap: settings.wrap ? 'on' : 'off',
    })
  }, [editor, settings, isOneSided])

  useEffect(() => {
    const element = host.current
    if (!element) return
    const tell = () => onCanSplit(!isOneSided && element.clientWidth > splitFrom)
    const resize = new ResizeObserver(tell)
    resize.observe(element)
    return () => resize.disconnect()
  }, [isOneSided, onCanSplit])

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
    const language = path.endsWith('.md')
      ? 'markdown'
      : /\.(ts|tsx|js|mjs|json)$/.test(path)
        ? 'typescript'
        : 'plaintext'
    const original = editor.monaco.editor.createModel(before ?? '', language)
    const modified = editor.monaco.editor.createModel(after ?? '', language)
    for (const model of [original, modified])
      model.updateOptions({ bracketColorizationOptions: { enabled: false, independentColorPoolPerBracketType: false } })
    editor.diff.setModel({ original, modified })
    return () => {
      editor.diff.setModel(null)
      original.dispose()
      modified.dispose()
    }
  }, [editor, path, before, after])

  // Last, so that on leaving the models are let go before the editor is.
  useEffect(() => {
    let made: DiffEditor | undefined
    let isGone = false
    loadMonaco().then(
      ({ monaco }) => {
        if (isGone || !host.current) return
        made = monaco.editor.createDiffEditor(host.current, {
          readOnly: true,
          originalEditable: false,
          domReadOnly: true,
          renderFinalNewline: 'on',
          automaticLayout: true,
          maxComputationTime: 5000,
          experimental: { showMoves: true },
          unicodeHighlight: { nonBasicASCII: true, invisibleCharacters: true, ambiguousCharacters: true },
          renderControlCharacters: true,
          renderWhitespace: 'boundary',
          scrollBeyondLastLine: false,
          renderIndicators: true,
          renderMarginRevertIcon: false,
          renderGutterMenu: false,
          minimap: { enabled: false },
          guides: { indentation: false },
          renderSideBySideInlineBreakpoint: splitFrom,
          scrollbar: { verticalScrollbarSize: 8, horizontalScrollbarSize: 8, useShadows: false },
          renderOverviewRuler: false,
          stickyScroll: { enabled: false },
          links: false,
          contextmenu: false,
          occurrencesHighlight: 'off',
          selectionHighlight: false,
          fontFamily: getComputedStyle(host.current).getPropertyValue('--mono'),
          fontSize: 12,
          lineHeight: 18,
          tabFocusMode: true,
        })
        made.onDidUpdateDiff(() => setApproximate(made?.getLineChanges() === null))
        setEditor({ monaco, diff: made })
      },
      (reason: unknown) => setError(String(reason)),
    )
    return () => {
      isGone = true
      made?.dispose()
    }
  }, [])

  if (error) return <p className="tone-bad review-note">✗ The diff editor could not be loaded: {error}</p>
  return (
    <>
      {isApproximate && (
        <p className="tone-wait review-note">▲ Approximate diff: this file is too large to compare exactly.</p>
      )}
      {!editor && <Skeleton rows={8} />}
      <div ref={host} className={`review-editor ${sidesClass}`} />
    </>
  )
}

/** Names one side for who cannot see it, and again whenever the diff editor forgets that name: it does with each layout. */
function keepName({ editor }: Monaco, side: Side, name: string): { dispose(): void } {
  const { ariaLabel } = editor.EditorOption
  const set = () => {
    if (side.getOption(ariaLabel) !== name) side.updateOptions({ ariaLabel: name })
  }
  set()
  return side.onDidChangeConfiguration((event) => {
    if (event.hasChanged(ariaLabel)) set()
  })
}
