import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from './serve.ts'

const usage = `exodesk serve [--port N]   serve the desk on loopback
exodesk --version
`

void run(process.argv.slice(2))

/** Exit codes: 0 done, 1 the thing asked about does not hold, 2 bad arguments, 3 cannot run here. */
async function run([command, ...args]: string[]): Promise<void> {
  switch (command) {
    case 'serve':
      return serve(args)
    case '--version':
      process.stdout.write(`${version()}\n`)
      return
    case '--help':
      process.stdout.write(usage)
      return
    default:
      process.stderr.write(usage)
      process.exitCode = 2
  }
}

function version(): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version
}
