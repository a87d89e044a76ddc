import { Console } from 'node:console'
import { start } from './executor.ts'

// Standard output belongs to the wire. Whatever else prints, a tool or a library, goes to standard error instead.
const write = process.stdout.write.bind(process.stdout)
process.stdout.write = process.stderr.write.bind(process.stderr)
globalThis.console = new Console(process.stderr, process.stderr)

start(process.stdin, (line) => write(line))
process.stdin.on('end', () => process.exit(0))
