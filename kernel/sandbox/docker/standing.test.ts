import { afterAll, describe } from 'vitest'
import { describeSnapshots } from '../snapshots/snapshots.contract.ts'
import { describeStanding } from '../standing/standing.contract.ts'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'

afterAll(removeFolders)

describe.skipIf(socketPath === undefined)('in a container of its task', () => {
  describeStanding('the command server', () =>
    dockerBoxes({ limits: { task: { memoryBytes: 400 * 1024 * 1024, pids: 200 } } }),
  )
  describeSnapshots('snapshots', () => dockerBoxes())
})
