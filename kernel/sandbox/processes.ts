import { readdirSync, readFileSync } from 'node:fs'

/** A process, with its start time so that a reused id is not taken for it. */
export interface ProcessId {
  pid: number
  startTime: string
}

interface ProcessStat extends ProcessId {
  parent: number
  /** As in proc(5): R running, S sleeping, T stopped, t traced, Z zombie … */
  state: string
  /** Time on a processor so far, clock ticks. */
  cpuTicks: number
}

export function readStat(pid: number): ProcessStat | null {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  // The command name, in parentheses, may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    pid,
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    startTime: fields[19] ?? '',
    cpuTicks: Number(fields[11]) + Number(fields[12]),
  }
}

export function isAlive(id: ProcessId): boolean {
  const stat = readStat(id.pid)
  return stat !== null && stat.startTime === id.startTime && stat.state !== 'Z' && stat.state !== 'X'
}

export function allPids(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
}

/** `root` and all that descend from it. A process of a pid namespace always descends from the namespace's first one. */
export function processTree(root: number): ProcessStat[] {
  const stats = allPids().flatMap((pid) => readStat(pid) ?? [])
  const children = new Map<number, ProcessStat[]>()
  for (const stat of stats) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat])
  const tree = stats.filter((stat) => stat.pid === root)
  for (let index = 0; index < tree.length; index += 1) tree.push(...(children.get(tree[index]?.pid ?? -1) ?? []))
  return tree
}

/** The first argument of a process; empty where it is gone or a kernel thread. */
export function firstArgument(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0', 1)[0] ?? ''
  } catch {
    return ''
  }
}

/** Sends a signal; false where the process is gone or not ours. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** Threads matter: a stopped process has every thread stopped, and `stat` of the process shows its first thread only. */
function isStopped(stat: ProcessStat): boolean {
  if (stat.state === 'Z' || stat.state === 'X') return true
  let threads: string[]
  try {
    threads = readdirSync(`/proc/${stat.pid}/task`)
  } catch {
    return true
  }
  return threads.every((thread) => {
    try {
      const text = readFileSync(`/proc/${stat.pid}/task/${thread}/stat`, 'latin1')
      return 'TtZX'.includes(text.charAt(text.lastIndexOf(')') + 2))
    } catch {
      return true
    }
  })
}

/**
 * Stops every process of a tree: SIGSTOP until two scans in a row find none running. Returns those to be let go on
 * later: not the ones that had been stopped before, by the box itself.
 */
export async function stopTree(root: number, attempts = 400): Promise<{ stopped: ProcessId[]; complete: boolean }> {
  const stopped = new Map<number, ProcessId>()
  let quietScans = 0
  for (let attempt = 0; attempt < attempts && quietScans < 2; attempt += 1) {
    const running = processTree(root).filter((stat) => !isStopped(stat))
    quietScans = running.length === 0 ? quietScans + 1 : 0
    for (const { pid, startTime } of running) {
      if (signal(pid, 'SIGSTOP')) stopped.set(pid, { pid, startTime })
    }
    if (running.length > 0) await pause(attempt < 20 ? 1 : 10)
  }
  return { stopped: [...stopped.values()], complete: quietScans >= 2 }
}

export function letGoOn(stopped: readonly ProcessId[]): void {
  for (const id of stopped) if (isAlive(id)) signal(id.pid, 'SIGCONT')
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
