import { useState } from 'react'
import { useDesk } from '../../lib/desk.tsx'

export interface Pausing {
  /** What came of the last one; null: nothing to tell. */
  said: { text: string; isError: boolean; canResume: boolean } | null
  isBusy: boolean
  pauseAll(): void
  resumeAll(): void
  clear(): void
}

/** Pause of all tasks and its undoing, from wherever; what comes of it is said until the operator clears it. */
export function usePausing(): Pausing {
  const desk = useDesk()
  const [said, setSaid] = useState<Pausing['said']>(null)
  const [isBusy, setBusy] = useState(false)
  const run = (work: () => Promise<Pausing['said']>, what: string) => {
    setBusy(true)
    work()
      .catch((error: Error) => ({ text: `${what}: ${error.message}`, isError: true, canResume: false }))
      .then(setSaid)
      .finally(() => setBusy(false))
  }
  return {
    said,
    isBusy,
    clear: () => setSaid(null),
    pauseAll: () =>
      run(async () => {
        const { paused } = await desk.host.pauseAll()
        if (paused.length === 0) return { text: 'No task runs: nothing was paused.', isError: false, canResume: false }
        const text = `${paused.join(', ')} ${paused.length === 1 ? 'pauses' : 'pause'} at the next safe point.`
        return { text, isError: false, canResume: true }
      }, 'Not all could be paused'),
    resumeAll: () =>
      run(async () => {
        const { resumed, left } = await desk.host.resumeAll()
        const parts = [
          resumed.length > 0 && `${resumed.join(', ')} ${resumed.length === 1 ? 'goes' : 'go'} on.`,
          ...left.map(({ task, reason }) => `${task} does not: ${reason}.`),
          resumed.length + left.length === 0 && 'No task was paused with all others.',
        ]
        return { text: parts.filter(Boolean).join(' '), isError: left.length > 0, canResume: left.length > 0 }
      }, 'Could not resume'),
  }
}
