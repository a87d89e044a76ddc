/**
 * Starts the simulator: `node simulator/main.ts [--port N] [--players NAME,…] [--cache-lifetime SECONDS]`, and as in
 * `conditions.ts` `[--think MS] [--pace MS] [--fault NAME+NAME…] [--rate 0…1] [--noise 0…1] [--random paired|independent]`.
 * Prints one line of JSON, `{"url":"http://127.0.0.1:PORT/v1"}`, and serves until its standard input closes, so that it
 * never outlives the process that started it. Loopback only.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { ordinary, withCondition } from './conditions.ts'
import type { RegisteredPlayer } from './players/player.ts'
import { players } from './players/registry.ts'
import { createSimulator } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    players: { type: 'string', default: Object.keys(players).join(',') },
    'cache-lifetime': { type: 'string', default: '300' },
    // A person who watches wants to be able to follow; a script does not want to wait.
    think: { type: 'string' },
    pace: { type: 'string' },
    fault: { type: 'string' },
    rate: { type: 'string' },
    noise: { type: 'string' },
    random: { type: 'string' },
  },
})

const offered: Record<string, RegisteredPlayer> = {}
for (const name of values.players.split(',')) {
  const player = Object.hasOwn(players, name) ? players[name] : undefined
  if (player === undefined) stop(`no player '${name}'; there are: ${Object.keys(players).join(', ')}`)
  offered[name] = player
}
const port = numberIn('--port', values.port, 0, 65_535)
const cacheLifetimeMs = numberIn('--cache-lifetime', values['cache-lifetime'], 0, 86_400) * 1000
let conditions = ordinary
for (const name of ['think', 'pace', 'fault', 'rate', 'noise', 'random'] as const) {
  const value = values[name]
  if (value === undefined) continue
  const next = withCondition(conditions, name, value)
  if (typeof next === 'string') stop(next)
  conditions = next
}

const server = createSimulator({ players: offered, cacheLifetimeMs, conditions, now: () => performance.now() })
server.once('error', (error) => stop(`cannot listen on 127.0.0.1:${port}: ${error.message}`))
server.listen(port, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })}\n`)
process.stdin.on('close', () => process.exit(0)).resume()

function numberIn(option: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least || value > most)
    stop(`${option} must be a whole number from ${least} to ${most}`)
  return value
}

function stop(message: string): never {
  process.stderr.write(`simulator: ${message}\n`)
  process.exit(2)
}
