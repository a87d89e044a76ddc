import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { serveHeadless } from './headless-server.ts'

/** Serves the desk on loopback until the process is told to stop, and prints its one-time URL on stdout. */
export async function serve(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { port: { type: 'string', default: '0' } } })
  const folder = findRenderer()
  if (folder === undefined) {
    process.stderr.write('The desk is not built: run "npm run build".\n')
    process.exitCode = 3
    return
  }
  const desk = await serveHeadless(folder, Number(values.port))
  process.stdout.write(`${desk.url}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void desk.close())
}

/** Beside the bundle in the product; when run from source, where the last build put it. */
function findRenderer(): string | undefined {
  return ['renderer', '../dist/renderer']
    .map((path) => join(import.meta.dirname, path))
    .find((folder) => existsSync(join(folder, 'index.html')))
}
