import { readFileSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import type { BoxSpec, SandboxProvider, StandingSandbox } from '../sandbox/sandbox.ts'
import { standingSandboxes } from '../sandbox/standing/standing.ts'

const source = readFileSync(new URL('../sandbox/standing/server.ts', import.meta.url), 'utf8')

/** Standing boxes of a provider under test. */
export function testStanding(provider: SandboxProvider): (place: Omit<BoxSpec, 'argv'>) => StandingSandbox {
  return standingSandboxes({ provider, clock: systemClock, source })
}
