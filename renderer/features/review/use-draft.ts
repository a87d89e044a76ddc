import { useCallback, useEffect, useRef, useState } from 'react'
import { type Draft, draftKey, emptyDraft, loadDraft, saveDraft } from './draft.ts'

const saveAfterMs = 250

export interface DraftHandle {
  draft: Draft
  change: (change: Partial<Draft> | ((before: Draft) => Partial<Draft>)) => void
  /** Gone for good: only after the kernel has taken what it held. */
  drop: () => void
  /** Why it would not come back after a reload; null: it would. */
  problem: string | null
}

/** Kept in this browser soon after each change, and at the latest when the page is left. */
export function useDraft(agent: string, proposal: string, revision: string): DraftHandle {
  const key = draftKey(agent, proposal, revision)
  const [draft, setDraft] = useState(() => loadDraft(localStorage, key))
  const [problem, setProblem] = useState<string | null>(null)
  const latest = useRef(draft)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const save = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = undefined
    setProblem(saveDraft(localStorage, key, latest.current, Date.now()))
  }, [key])
  const set = useCallback(
    (next: Draft) => {
      latest.current = next
      setDraft(next)
      timer.current ??= setTimeout(save, saveAfterMs)
    },
    [save],
  )
  const change = useCallback<DraftHandle['change']>(
    (by) => set({ ...latest.current, ...(typeof by === 'function' ? by(latest.current) : by) }),
    [set],
  )
  const drop = useCallback(() => {
    set(emptyDraft)
    save()
  }, [set, save])
  useEffect(() => {
    const flush = () => {
      if (timer.current !== undefined) save()
    }
    window.addEventListener('pagehide', flush)
    return () => {
      window.removeEventListener('pagehide', flush)
      flush()
    }
  }, [save])
  return { draft, change, drop, problem }
}
