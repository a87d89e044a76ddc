/**
 * Named places at which a test can stop the process dead, to show that a multi-step operation survives it.
 * `EXODESK_FAILPOINT=area:place` or `area:place:3` (the third passage) raises SIGKILL on this process; unset, a passage costs one comparison.
 */
const [, target, nth] = /^(.+?)(?::(\d+))?$/.exec(process.env.EXODESK_FAILPOINT ?? '') ?? []
let passages = 0

export function failpoint(name: string): void {
  if (target === undefined || name !== target) return
  passages += 1
  if (passages >= Number(nth ?? 1)) process.kill(process.pid, 'SIGKILL')
}
