import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Everything is a file of its own (no data: URLs, no inline scripts), so that the strict policy in electron/desk-files.ts holds.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react()],
  worker: { format: 'es' },
  optimizeDeps: { include: ['monaco-editor/editor/editor.api'] },
  build: {
    outDir: '../dist/renderer',
    rolldownOptions: { checks: { bundlerTimings: false } },
    emptyOutDir: true,
    target: 'chrome130',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 6000,
  },
})
