// The desk without Electron: what `npm start` runs where Electron cannot, and `exodesk serve` always.
import { serve } from './serve.ts'

void serve(process.argv.slice(2))
