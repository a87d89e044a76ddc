import type { Runtime } from './host-config.ts'

/** What `GET /version` says, as far as it is looked at. */
export interface VersionAnswer {
  Version?: string
  Components?: { Name: string; Version: string }[]
}

/** What a runtime that starts containers must be at least, per line of releases, not to be known for a way out of them. */
const mended = [
  [1, 2, 8],
  [1, 3, 3],
  [1, 4, 0],
] as const
const known = 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881'

/** `docker 20.10.24, runc 1.1.5`, and what is known against it. */
export function engineVersion(answer: VersionAnswer, runtime: Runtime): { detail: string; weaknesses: string[] } {
  const version = plain(answer.Version)
  const runc = plain(answer.Components?.find(({ Name }) => Name === 'runc')?.Version)
  const detail = `docker ${version ?? 'of unknown version'}, ${runtime === 'runc' ? `runc ${runc ?? 'of unknown version'}` : runtime}`
  // The mounts that these faults need are the runtime's own; gVisor's are not runc's.
  const isKnownBad = runtime === 'runc' && runc !== null && !isMended(runc)
  return { detail, weaknesses: isKnownBad ? [`runc ${runc} may have known faults (${known}): update it`] : [] }
}

/** Digits alone: a distribution adds its own signs behind them (`1.1.5+ds1`, `v1.3.0-rc.1`). */
function plain(text: string | undefined): string | null {
  return /(\d+)\.(\d+)(?:\.(\d+))?(?:-rc\.\d+)?/.exec(text ?? '')?.[0] ?? null
}

function isMended(version: string): boolean {
  const [major = 0, minor = 0, micro = 0] = version.split(/[.-]/).map(Number)
  // The release candidates before a mended release do not have the mend.
  const isCandidate = version.includes('-rc')
  const line = mended.find(([a, b]) => a === major && b === minor)
  if (line === undefined) return major > 1 || (major === 1 && minor > 4)
  return isCandidate ? micro > line[2] || (line[2] === 0 && version.localeCompare('1.4.0-rc.3') >= 0) : micro >= line[2]
}
