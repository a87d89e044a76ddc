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
    { token: 'comment', foreground: '285c28' },
    { token: 'type', foreground: '005b61' },
    { token: 'number', foreground: '066040' },
    { token: 'regexp', foreground: '800000' },
    { token: 'invalid', foreground: '800000' },
  ],
  colors: {
    'editor.background': '#ffffff',
    'diffEditor.insertedLineBackground': '#1d5fc41a',
    'diffEditor.removedLineBackground': '#a34b001a',
    'diffEditor.insertedTextBackground': '#1d5fc433',
    'diffEditor.removedTextBackground': '#a34b0033',
    'editorLineNumber.foreground': '#525b65',
    'editorWhitespace.foreground': '#5a636d',
    'scrollbarSlider.background': '#5a636d33',
    'diffEditor.unchangedRegionBackground': '#f1f3f5',
  },
})
monaco.editor.defineTheme('exodesk-dark', {
  base: 'vs-dark',
  inherit: true,
  rules: [
    { token: 'comment', foreground: '98bf88' },
    { token: 'keyword', foreground: '7cb8ea' },
    { token: 'string', foreground: 'dca58f' },
    { token: 'type', foreground: '4ad0b8' },
    { token: 'regexp', foreground: 'e2b0ce' },
    { token: 'invalid', foreground: 'e2b0ce' },
  ],
  colors: {
    'editor.background': '#191d21',
    'diffEditor.insertedLineBackground': '#71aaf71a',
    'diffEditor.removedLineBackground': '#eba35e1a',
    'diffEditor.insertedTextBackground': '#71aaf72e',
    'diffEditor.removedTextBackground': '#eba35e2e',
    'editorLineNumber.foreground': '#98a2ad',
    'editorWhitespace.foreground': '#98a2ad',
    'scrollbarSlider.background': '#98a2ad33',
    'diffEditor.unchangedRegionBackground': '#14181b',
  },
})

export { monaco }
