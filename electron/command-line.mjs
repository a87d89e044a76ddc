// What `npm run -s exodesk` does once Node is known to be new enough.
import { join } from 'node:path'
import { become, buildIfStale } from './launch.mjs'
import { ensureInstalled, ensureSandboxTool, localNode, root } from './setup.mjs'

ensureInstalled()
ensureSandboxTool()
buildIfStale()
become(localNode, [join(root, 'dist', 'cli.cjs'), ...process.argv.slice(2)])
