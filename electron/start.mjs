// `npm start`: from a fresh clone to an open desk. In Electron where that is possible; else the same desk on loopback.
import { requireNode } from './node-version.mjs'

requireNode()
// Not before: an older Node cannot read it.
import('./open-desk.mjs')
