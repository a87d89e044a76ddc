// The world's process. The kernel speaks to it on stdio, a JSON line each way; the agent through the socket (door.ts).
import readline from 'node:readline'
import { openDoor } from './door.ts'
import { World } from './world.ts'

const world = openWorld(process.env.WORLD_JOURNAL ?? '/world/journal')
const socketPath = process.env.WORLD_SOCKET ?? '/run/world/world.sock'

interface Request {
  id: number
  op: string
  seed?: number
  objective?: string
  state?: string
}

function openWorld(dir: string): World {
  try {
    return new World(dir)
  } catch (error) {
    process.stderr.write(`hollowmere cannot start: ${(error as Error).message}\n`)
    process.exit(1)
  }
}

function answerTo(request: Request): object {
  switch (request.op) {
    case 'init':
      return world.init(request.seed ?? Number.NaN, request.objective ?? '')
    case 'probe':
      return world.probe()
    case 'frame':
      return { frame: world.frame() }
    case 'save':
      return { state: world.save() }
    case 'load':
      world.load(request.state ?? '')
      return {}
    default:
      throw new Error(`no operation "${request.op}"; there are: init, probe, frame, save, load`)
  }
}

function reply(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

// The door opens before the first request is read: once the kernel has an answer, the agent's commands work.
openDoor(world, socketPath, () => {
  const lines = readline.createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    let id: number | null = null
    try {
      const request = JSON.parse(line) as Request
      id = typeof request.id === 'number' ? request.id : null
      reply({ id, ...answerTo(request) })
    } catch (error) {
      reply({ id, error: (error as Error).message })
    }
  })
  // Without its kernel a world has nobody to answer to; its journal is complete at any moment.
  lines.on('close', () => process.exit(0))
})
