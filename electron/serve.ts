import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dataDirOf } from './data-dir.ts'
import { serveHeadless } from './headless-server.ts'
import { openHost } from './host.ts'
import { serveOperatorSocket } from './operator-socket.ts'

/** Serves the desk on loopback until the process is told to stop, and prints its one-time URL on stdout. */
export async function serve(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { port: { type: 'string', default: '0' }, data: { type: 'string' } } })
  const folder = findRenderer()
  if (folder === undefined) {
    process.stderr.write('The desk is not built: run "npm run build".\n')
    process.exitCode = 3
    return
  }
  const host = await openHost('headless', dataDirOf(values.data))
  const desk = await serveHeadless(folder, Number(values.port))
  const operator = serveOperatorSocket(desk.server, desk.standing, host.kernel.operator)
  process.stdout.write(`${desk.url}\n`)

  let isClosing = false
  const close = async () => {
    // Told twice, it does not wait for what is open.
    if (isClosing) process.exit(130)
    isClosing = true
    operator.close()
    await desk.close()
    await host.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void close())
}

/** Beside the bundle in the product; when run from source, where the last build put it. */
function findRenderer(): string | undefined {
  return ['renderer', '../dist/renderer']
    .map((path) => join(import.meta.dirname, path))
    .find((folder) => existsSync(join(folder, 'index.html')))
}
