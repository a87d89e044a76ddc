/**
 * Named places at which a test can stop the process dead, to show that a multi-step operation survives it.
 * `EXODESK_FAILPOINT=name` or `name:3` (the third passage) raises SIGKILL on this process; unset, a passage costs one comparison.
 */
const [target, nth] = (process.env.EXODESK_FAILPOINT ?? '').split(':')
let passages = 0

export function failpoint(name: string): void {
  if (target === undefined || target === '' || name !== target) return
  passages += 1
  if (passages >= Number(nth ?? 1)) process.kill(process.pid, 'SIGKILL')
}
