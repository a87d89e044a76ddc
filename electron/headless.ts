// The desk without Electron: what `npm start` runs where Electron cannot, and `exodesk serve` always.
import { cannotRun } from './cannot-run.ts'
import { serve } from './serve.ts'

serve(process.argv.slice(2)).catch(cannotRun)
