// The desk without Electron: what `npm start` runs where Electron cannot, and `exodesk serve` always.
import { parseArgs } from 'node:util'
import { dataDirOf } from './data-dir.ts'
import { serve, serveOptions } from './serve.ts'

const usage = 'Usage: npm start -- [--data DIR] [--port N]\n'

void start().then((code) => {
  process.exitCode = code
})

async function start(): Promise<number> {
  let values: { data?: string; port?: string; help?: boolean }
  try {
    values = parseArgs({ options: { ...serveOptions, data: { type: 'string' }, help: { type: 'boolean' } } }).values
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`)
    return 2
  }
  if (values.help === true) {
    process.stdout.write(usage)
    return 0
  }
  const port = Number(values.port ?? 0)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    process.stderr.write(`--port takes a number from 0 to 65535\n${usage}`)
    return 2
  }
  return serve({ dataDir: dataDirOf(values.data), port })
}
