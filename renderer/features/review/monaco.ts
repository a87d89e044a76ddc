// The diff editor and nothing of Monaco beyond it; loaded in its own chunk, warmed up when the desk is idle.
import * as monaco from 'monaco-editor/editor/editor.api'
import 'monaco-editor/features/codicon/register'
import 'monaco-editor/features/diffEditor/register'
import 'monaco-editor/features/find/register'
import 'monaco-editor/features/unicodeHighlighter/register'
import 'monaco-editor/languages/definitions/typescript/register'
import 'monaco-editor/languages/definitions/markdown/register'
import EditorWorker from 'monaco-editor/editor/editor.worker?worker'

self.MonacoEnvironment = { getWorker: () => new EditorWorker() }

// Blue for added and orange for removed tells the two apart for every kind of colour vision.
monaco.editor.defineTheme('exodesk-light', {
  base: 'vs',
  inherit: true,
  // Stronger than Monaco's own: 4.5:1 on the tint of a changed word too. It calls \S in a pattern invalid; it is not.
  rules: [
    { token: 'comment', foreground: '1f521f' },
    { token: 'type', foreground: '004f55' },
    { token: 'number', foreground: '05543a' },
    { token: 'string', foreground: '8a1010' },
    { token: 'regexp', foreground: '800000' },
    { token: 'invalid', foreground: '800000' },
  ],
  colors: {
    'editor.background': '#ffffff',
    'diffEditor.insertedLineBackground': '#1d5fc41a',
    'diffEditor.removedLineBackground': '#a34b001a',
    'diffEditor.insertedTextBackground': '#1d5fc433',
    'diffEditor.removedTextBackground': '#a34b0033',
    'editorLineNumber.foreground': '#464f59',
    'editorWhitespace.foreground': '#464f59',
    'scrollbarSlider.background': '#5a636d33',
    'diffEditor.unchangedRegionBackground': '#f1f3f5',
  },
})
monaco.editor.defineTheme('exodesk-dark', {
  base: 'vs-dark',
  inherit: true,
  // 4.5:1 on the deepest tint: a changed word in a line of the operator.
  rules: [
    { token: 'comment', foreground: 'acd29c' },
    { token: 'keyword', foreground: '92c6f0' },
    { token: 'string', foreground: 'e8b8a4' },
    { token: 'type', foreground: '5cdac3' },
    { token: 'regexp', foreground: 'e8bcd6' },
    { token: 'invalid', foreground: 'e8bcd6' },
  ],
  colors: {
    'editor.background': '#191d21',
    'diffEditor.insertedLineBackground': '#71aaf71a',
    'diffEditor.removedLineBackground': '#eba35e1a',
    'diffEditor.insertedTextBackground': '#71aaf72e',
    'diffEditor.removedTextBackground': '#eba35e2e',
    'editorLineNumber.foreground': '#b4bec9',
    'editorWhitespace.foreground': '#b4bec9',
    'scrollbarSlider.background': '#98a2ad33',
    'diffEditor.unchangedRegionBackground': '#14181b',
  },
})

/** On white and on black, with borders of changed words: told by more than a tint. */
monaco.editor.defineTheme('exodesk-light-more', {
  base: 'vs',
  inherit: true,
  rules: [
    { token: '', foreground: '000000' },
    { token: 'comment', foreground: '1d4a1d' },
    { token: 'keyword', foreground: '00007a' },
    { token: 'string', foreground: '7a1010' },
    { token: 'type', foreground: '00444a' },
    { token: 'number', foreground: '044a30' },
    { token: 'regexp', foreground: '6b0000' },
    { token: 'invalid', foreground: '6b0000' },
  ],
  colors: {
    'editor.background': '#ffffff',
    'diffEditor.insertedLineBackground': '#0536b312',
    'diffEditor.removedLineBackground': '#6b2f0012',
    'diffEditor.insertedTextBackground': '#0536b31f',
    'diffEditor.removedTextBackground': '#6b2f001f',
    'diffEditor.insertedTextBorder': '#0536b3',
    'diffEditor.removedTextBorder': '#6b2f00',
    'editorLineNumber.foreground': '#333333',
    'editorWhitespace.foreground': '#333333',
    'scrollbarSlider.background': '#33333366',
    'diffEditor.unchangedRegionBackground': '#ebebeb',
  },
})
monaco.editor.defineTheme('exodesk-dark-more', {
  base: 'vs-dark',
  inherit: true,
  // 4.5:1 on the deepest tint: a changed word in a line of the operator.
  rules: [
    { token: '', foreground: 'ffffff' },
    { token: 'comment', foreground: 'b4dba4' },
    { token: 'keyword', foreground: '9cd0ff' },
    { token: 'string', foreground: 'ffc4ad' },
    { token: 'type', foreground: '6ff0d8' },
    { token: 'number', foreground: 'cdf0b8' },
    { token: 'regexp', foreground: 'ffc8e8' },
    { token: 'invalid', foreground: 'ffc8e8' },
  ],
  colors: {
    'editor.background': '#000000',
    'diffEditor.insertedLineBackground': '#9cc1fc1a',
    'diffEditor.removedLineBackground': '#ffc08a1a',
    'diffEditor.insertedTextBackground': '#9cc1fc2e',
    'diffEditor.removedTextBackground': '#ffc08a2e',
    'diffEditor.insertedTextBorder': '#9cc1fc',
    'diffEditor.removedTextBorder': '#ffc08a',
    'editorLineNumber.foreground': '#d6d6d6',
    'editorWhitespace.foreground': '#d6d6d6',
    'scrollbarSlider.background': '#d6d6d666',
    'diffEditor.unchangedRegionBackground': '#1f1f1f',
  },
})

export { monaco }
