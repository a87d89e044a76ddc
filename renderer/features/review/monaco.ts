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
  // Darker than Monaco's own: they are read on a tint too.
  rules: [
    { token: 'comment', foreground: '2f6b2f' },
    { token: 'type', foreground: '00646a' },
    { token: 'number', foreground: '066040' },
  ],
  colors: {
    'editor.background': '#ffffff',
    'diffEditor.insertedLineBackground': '#1d5fc41a',
    'diffEditor.removedLineBackground': '#a34b001a',
    'diffEditor.insertedTextBackground': '#1d5fc43d',
    'diffEditor.removedTextBackground': '#a34b003d',
    'editorLineNumber.foreground': '#5a636d',
    'scrollbarSlider.background': '#5a636d33',
    'diffEditor.unchangedRegionBackground': '#f1f3f5',
  },
})
monaco.editor.defineTheme('exodesk-dark', {
  base: 'vs-dark',
  inherit: true,
  rules: [
    { token: 'comment', foreground: '8bb37a' },
    { token: 'regexp', foreground: 'd99ac1' },
  ],
  colors: {
    'editor.background': '#191d21',
    'diffEditor.insertedLineBackground': '#71aaf71a',
    'diffEditor.removedLineBackground': '#eba35e1a',
    'diffEditor.insertedTextBackground': '#71aaf73d',
    'diffEditor.removedTextBackground': '#eba35e3d',
    'editorLineNumber.foreground': '#98a2ad',
    'scrollbarSlider.background': '#98a2ad33',
    'diffEditor.unchangedRegionBackground': '#14181b',
  },
})

export { monaco }
