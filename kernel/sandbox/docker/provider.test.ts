import { afterAll, describe } from 'vitest'
import { describeSandbox } from '../sandbox.contract.ts'
import { dockerBoxes, removeFolders, socketPath } from './fixture.ts'

afterAll(removeFolders)

describe.skipIf(socketPath === undefined)('docker boxes', () => {
  describeSandbox('by the engine of this machine', () => dockerBoxes())
})
