import { serve, serveOptions } from '../serve.ts'
import { type Command, parseCommand, wholeNumber } from './command.ts'

export const serveCommand: Command = {
  synopsis: '[--port N]',
  summary: 'serve the desk on loopback and print a URL that opens it once',
  notes: [
    'Beside a host that runs on the same data directory, it prints a fresh URL of that one (or brings its window to the front).',
  ],
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, serveOptions)
    return serve({ dataDir, json, port: values.port === undefined ? 0 : wholeNumber('--port', values.port as string) })
  },
}
