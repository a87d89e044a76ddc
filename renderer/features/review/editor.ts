import type { DiffEditor, Monaco } from './load-monaco.ts'

/** Up to this width, px, the editor shows one column. */
export const splitFrom = 680

export function languageOf(path: string): string {
  if (path.endsWith('.md')) return 'markdown'
  return /\.(ts|tsx|js|mjs|json)$/.test(path) ? 'typescript' : 'plaintext'
}

/** Of a look as `useLook` names it. */
export function themeOf(look: string): string {
  const [mode, contrast] = look.split(' ')
  return `exodesk-${mode === 'dark' ? 'dark' : 'light'}${contrast === 'more' ? '-more' : ''}`
}

export function createDiff({ editor }: Monaco, host: HTMLElement): DiffEditor {
  return editor.createDiffEditor(host, {
    readOnly: true,
    originalEditable: false,
    domReadOnly: true,
    renderFinalNewline: 'on',
    automaticLayout: true,
    maxComputationTime: 5000,
    // Monaco leaves out what stands behind a line's 10 000th character: such a file is not shown here (tiers.ts).
    unicodeHighlight: {
      nonBasicASCII: true,
      invisibleCharacters: true,
      ambiguousCharacters: true,
      includeComments: true,
      includeStrings: true,
    },
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
    fontFamily: getComputedStyle(host).getPropertyValue('--mono'),
    fontSize: 12,
    lineHeight: 18,
    lineDecorationsWidth: 14,
    tabFocusMode: true,
  })
}
