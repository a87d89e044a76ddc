/** What an unclean end left open, and what became of it. */
export interface Closed {
  tasksGoingOn: readonly string[]
  turnsInterrupted: number
  openCallsClosed: number
  reservationsCharged: number
  activationsResolved: number
  checksRestarted: number
  trialsClosed: number
  boxesReaped: number
}

/** In one sentence, for the start screen and `kernel.recovered`. */
export function recoverySummary(events: number, closed: Closed): string {
  const goingOn = closed.tasksGoingOn
  const parts = [
    goingOn.length > 0 && `${goingOn.join(', ')} ${goingOn.length === 1 ? 'goes' : 'go'} on`,
    closed.turnsInterrupted > 0 && `${count(closed.turnsInterrupted, 'turn')} had been interrupted`,
    closed.openCallsClosed > 0 && `${count(closed.openCallsClosed, 'tool call')} closed with unknown effect`,
    closed.reservationsCharged > 0 && `${count(closed.reservationsCharged, 'model call')} charged as reserved`,
    closed.activationsResolved > 0 && `${count(closed.activationsResolved, 'activation')} resolved`,
    closed.checksRestarted > 0 && `${count(closed.checksRestarted, 'check')} started again`,
    closed.trialsClosed > 0 && `${count(closed.trialsClosed, 'trial')} closed as failed`,
    closed.boxesReaped > 0 && `${count(closed.boxesReaped, 'box', 'boxes')} left behind ended`,
  ].filter((part) => part !== false)
  return `Recovered ${events} events: ${parts.join('; ')}.`
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
