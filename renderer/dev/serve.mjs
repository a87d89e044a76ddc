// Serves the built desk over a fake host, under the policy that the real hosts send. For looking at screens only:
//   npx vite build --config renderer/vite.config.ts --outDir ../dist/renderer && npx node renderer/dev/serve.mjs [port] [empty] [nobox] [still]
import { createServer } from 'node:http'
import { join } from 'node:path'
import { RPCHandler } from '@orpc/server/ws'
import { WebSocketServer } from 'ws'
import { readDeskFile } from '../../electron/desk-files.ts'
import { fakeHost } from './fake-host.ts'
import { FakeWorld } from './fake-world.ts'

const [port = '7100', ...flags] = process.argv.slice(2)
const folder = process.env.DESK_FOLDER ?? join(import.meta.dirname, '../../dist/renderer')
const world = new FakeWorld(flags.includes('empty'))
world.costFails = flags.includes('costfails')
world.sandboxMissing = flags.includes('nobox')
if (flags.includes('notices'))
  world.notices = [
    {
      id: 'history.read-only',
      severity: 'error',
      text: 'History is open for reading only: event 812 (tool.finished) has a payload that was changed. Nothing is added and no task runs.',
      fix: 'Restore a backup into another folder and open it with --data.',
      task: null,
    },
    {
      id: 'task.T-1.endpoint',
      severity: 'warning',
      text: 'T-1 is paused: 127.0.0.1:8000 does not answer. It is tried again by itself, at the latest after 5 min',
      fix: null,
      task: 'T-1',
    },
    {
      id: 'sandbox.docker-unusable',
      severity: 'warning',
      text: 'Docker answers but has no base image, so tasks run in local boxes.',
      fix: 'exodesk doctor --build-base-image',
      task: null,
    },
  ]
world.recovered = flags.includes('recovered')

const server = createServer((request, response) => {
  void readDeskFile(folder, new URL(request.url ?? '/', 'http://desk').pathname).then(({ status, headers, body }) => {
    response.writeHead(status, headers).end(body)
  })
})
const handler = new RPCHandler(fakeHost(world))
const sockets = new WebSocketServer({ server, path: '/operator' })
sockets.on('connection', (socket) => {
  if (flags.includes('expired')) socket.close(4401)
  else void handler.upgrade(socket)
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`))
if (!flags.includes('still'))
  setInterval(() => {
    if (!world.isEmpty && world.state === 'running') world.step()
  }, 900)
