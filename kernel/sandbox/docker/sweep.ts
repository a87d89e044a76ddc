/** In the environment of every command of a task's container: `GENERATION.NUMBER`. */
export const boxVariable = 'EXODESK_BOX'

export interface SweepOrder {
  variable: string
  generation: string
  /** Commands that go on; with a number above `until` are those that were started after this order. */
  keep: number[]
  until: number
}

/**
 * Runs inside the container, as its user. Kills every process that belongs to no command that goes on, until two looks in a
 * row find none. A process belongs to the command in its environment, else to that of its parent; one that has neither, and
 * no parent but the container's first process, belongs to none. Sent as source text: it uses nothing from outside itself.
 */
function sweep(order: SweepOrder): void {
  const fs = process.getBuiltinModule('node:fs')
  const read = (path: string): string => {
    try {
      return fs.readFileSync(path, 'latin1')
    } catch {
      return ''
    }
  }
  const prefix = `${order.variable}=`
  const look = (): number[] => {
    const seen = new Map<number, { parent: number; mark: string | undefined; state: string }>()
    for (const name of fs.readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue
      const stat = read(`/proc/${name}/stat`)
      if (stat === '') continue
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const mark = read(`/proc/${name}/environ`)
        .split('\0')
        .find((entry) => entry.startsWith(prefix))
        ?.slice(prefix.length)
      seen.set(Number(name), { parent: Number(fields[1]), mark, state: fields[0] ?? '' })
    }
    const goesOn = (mark: string): boolean => {
      const [generation, number] = mark.split('.')
      return generation === order.generation && (order.keep.includes(Number(number)) || Number(number) > order.until)
    }
    const belongs = (pid: number): boolean => {
      for (let at = pid; ; ) {
        const found = seen.get(at)
        // 0: it came from outside, and is being started, or looks like this.
        if (found === undefined) return at === 0
        if (at === 1) return false
        if (found.mark !== undefined) return goesOn(found.mark)
        at = found.parent
      }
    }
    return [...seen].flatMap(([pid, { state }]) => (pid === 1 || state === 'Z' || belongs(pid) ? [] : [pid]))
  }
  for (let quiet = 0, rounds = 0; quiet < 2; rounds += 1) {
    if (rounds > 200) process.exit(1)
    const left = look()
    quiet = left.length === 0 ? quiet + 1 : 0
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Gone meanwhile.
      }
    }
    if (left.length > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
  }
}

export function sweepCommand(order: SweepOrder): string[] {
  return ['/exodesk/bin/node', '-e', `(${String(sweep)})(${JSON.stringify(order)})`]
}
