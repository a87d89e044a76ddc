import { type ReactNode, useEffect, useState } from 'react'
import './states.css'

/** What an error says to a person. The kernel's own text where it has one. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children}
    </div>
  )
}

/** Failing to load is never shown as having nothing. */
export function LoadError({ what, error, retry }: { what: string; error: unknown; retry?: () => void }) {
  return (
    <div className="state" role="alert">
      <p className="state-title tone-bad">✗ Could not load {what}</p>
      <p className="muted">{errorText(error)}</p>
      <p className="muted">Nothing was changed.</p>
      {retry && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Grey bars in the shape of what is to come, only after 150 ms. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="skeleton" aria-busy="true">
      <span className="sr">Loading</span>
      {isLate &&
        Array.from({ length: rows }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: identical bars.
          <div key={index} className="skeleton-row" />
        ))}
    </div>
  )
}

interface Loadable<T> {
  data: T | undefined
  error: unknown
  refetch: () => unknown
}

/** The last good data stays on the screen whatever a later refetch says. */
export function Loaded<T>(props: {
  query: Loadable<T>
  what: string
  rows?: number
  children: (data: T) => ReactNode
}) {
  const { query, what, rows = 3, children } = props
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <LoadError what={what} error={query.error} retry={() => void query.refetch()} />
  return <Skeleton rows={rows} />
}
