// A process that opens, keeps or restores the container of a task and is killed at a failpoint. Arguments: the engine's socket,
// the boxes folder, what it does.
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { dockerProvider } from '../sandbox/docker/provider.ts'

const [, , socketPath = '', boxesDir = '', operation] = process.argv
const provider = dockerProvider({
  socketPath,
  boxesDir,
  nodePath: process.execPath,
  checkerMounts: [],
  clock: systemClock,
})
const place = { label: 'T-1', mounts: { root: join(boxesDir, 'root'), policy: join(boxesDir, 'policy') } }
await provider.open(place)
if (operation === 'snapshot') await provider.snapshot(place, 'one')
if (operation === 'restore') await provider.restore(place, 'one')
await provider.close()
