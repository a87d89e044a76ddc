// `npm run -s exodesk -- …`: the command line of a clone. Sets up and builds first where needed; stdout is the command's.
import { requireNode } from './node-version.mjs'

requireNode()
// Not before: an older Node cannot read it.
import('./command-line.mjs')
