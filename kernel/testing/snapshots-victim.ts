// A process that takes or restores a snapshot and is killed at a failpoint. Arguments: the boxes folder, take or restore.
import { join } from 'node:path'
import { systemClock } from '../clock.ts'
import { localSnapshots } from '../sandbox/snapshots/local-snapshots.ts'

const [, , boxesDir = '', operation] = process.argv
const store = localSnapshots([boxesDir], systemClock)
const place = { label: 'T-1', mounts: { root: join(boxesDir, 'tasks', 'T-1', 'root') } }
if (operation === 'take') await store.take(place, 'one')
else await store.restore(place, 'one')
