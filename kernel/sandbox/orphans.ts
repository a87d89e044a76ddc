import type { Cgroups } from './cgroups.ts'
import { allPids, firstArgument, isAlive, type ProcessId, pause, readStat, signal } from './processes.ts'

/** The first argument of every host process of a box: seen in process lists, and found again by a later kernel. */
export function markerOf(hash: string, label: string, id: string): string {
  return `exodesk-box/${hash}/${label}/${id}`
}

function readMarker(argument: string): { hash: string; label: string; id: string } | null {
  const [word, hash, label, id] = argument.split('/')
  return word === 'exodesk-box' && hash && label && id ? { hash, label, id } : null
}

/**
 * Kills the boxes of this data directory that are not in `keep`, all or those of one label, and waits for their end.
 * With bubblewrap's processes (which bear the marker) everything in the box ends: they hold its pid namespace.
 *
 * @returns how many boxes were found.
 */
export async function killOrphans(what: {
  hash: string
  label?: string
  keep: ReadonlySet<string>
  cgroups: Cgroups | null
}): Promise<number> {
  const orphans = new Map<string, ProcessId[]>()
  for (const pid of allPids()) {
    const marker = readMarker(firstArgument(pid))
    if (marker === null || marker.hash !== what.hash || what.keep.has(marker.id)) continue
    if (what.label !== undefined && marker.label !== what.label) continue
    const stat = readStat(pid)
    if (stat !== null) orphans.set(marker.id, [...(orphans.get(marker.id) ?? []), stat])
  }
  const groups = (what.cgroups?.ids() ?? []).filter((id) =>
    what.label === undefined ? !what.keep.has(id) : orphans.has(id),
  )
  for (const id of groups) {
    const group = what.cgroups?.open(id)
    group?.setFrozen(false)
    for (const pid of group?.processes() ?? []) signal(pid, 'SIGKILL')
  }
  const processes = [...orphans.values()].flat()
  for (const id of processes) if (isAlive(id)) signal(id.pid, 'SIGKILL')
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const left = processes.filter(isAlive).length
    const removed = groups.map((id) => what.cgroups?.open(id).remove() ?? true)
    if (left === 0 && removed.every(Boolean)) break
    await pause(10)
  }
  return orphans.size
}
