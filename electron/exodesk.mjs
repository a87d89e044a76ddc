// `npm run -s exodesk -- …`: the command line of a clone. Sets up and builds first where needed; stdout is the command's.
import { join } from 'node:path'
import { become, buildIfStale } from './launch.mjs'
import { ensureInstalled, ensureSandboxTool, localNode, root } from './setup.mjs'

ensureInstalled()
ensureSandboxTool()
buildIfStale()
become(localNode, [join(root, 'dist', 'cli.cjs'), ...process.argv.slice(2)])
