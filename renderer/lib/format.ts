// Figures as the desk prints them: tabular, short, and "—" where the truth is unknown. Zero is never unknown.

const unknown = '—'

const nanoPerUsd = 1_000_000_000

/** Dollars of integer nano-dollars: 2 decimals, 4 under a cent, two significant digits under a tenth of a cent. */
export function money(nanoUsd: number | null | undefined): string {
  if (nanoUsd === null || nanoUsd === undefined || !Number.isFinite(nanoUsd)) return unknown
  const usd = nanoUsd / nanoPerUsd
  const size = Math.abs(usd)
  if (size === 0) return '$0.00'
  const sign = usd < 0 ? '−' : ''
  if (size >= 0.01) return `${sign}$${size.toFixed(2)}`
  if (size >= 0.001) return `${sign}$${size.toFixed(4)}`
  const decimals = Math.min(9, 1 - Math.floor(Math.log10(size)))
  return `${sign}$${size.toFixed(decimals)}`
}

/**
 * What was spent today, with the day's limit where one is set. A null total means that some calls have no price: then the
 * figure is that of all others, and says so.
 */
export function today(
  totalNanoUsd: number | null,
  day: { limitNanoUsd: number | null; spentNanoUsd: number } | null | undefined,
): string {
  const limit = day?.limitNanoUsd ?? null
  // Against a limit counts what the kernel counts.
  const spent = limit === null && totalNanoUsd !== null ? totalNanoUsd : day?.spentNanoUsd
  const of = limit === null ? '' : ` of ${money(limit)}`
  return `${money(spent ?? totalNanoUsd)}${of} today${totalNanoUsd === null ? ' + calls without a price' : ''}`
}

/** `873`, `12.3k`, `1.2M`. */
export function tokens(count: number | null | undefined): string {
  if (count === null || count === undefined) return unknown
  if (count < 1000) return String(count)
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export function whole(count: number): string {
  return count.toLocaleString('en-US').replaceAll(',', ' ')
}

export function share(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown
  return `${Math.round(value * 100)} %`
}

/** A figure of progress: whole where it is whole, else two decimals. */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown
  return Number.isInteger(value) ? whole(value) : value.toFixed(2)
}

export function signed(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown
  if (value === 0) return '0'
  return value > 0 ? `+${amount(value)}` : `−${amount(-value)}`
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return unknown
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} m ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}

/** How long ago, coarsely: `now`, `12 s ago`, `4 m ago`, `2 h ago`, `3 d ago`. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 2) return 'now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}

// Made once: making one takes longer than all that it formats on a screen.
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function absoluteTime(at: number): string {
  return absolute.format(at)
}

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const dayAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** The time of the day, with its date where it is more than half a day ago. */
export function sinceClock(at: number, now: number): string {
  return (now - at < 43_200_000 ? clockTime : dayAndClock).format(at)
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  if (count < 1_048_576) return `${(count / 1024).toFixed(1)} KiB`
  return `${(count / 1_048_576).toFixed(1)} MiB`
}

export function shortHash(hash: string | null | undefined): string {
  return hash ? hash.slice(0, 8) : unknown
}

/** `costNanoUsd / progressDelta`, nano-dollars a unit; null where either is unknown or nothing was gained. */
export function costPerUnit(
  costNanoUsd: number | null | undefined,
  progressDelta: number | null | undefined,
): number | null {
  if (costNanoUsd === null || costNanoUsd === undefined) return null
  if (progressDelta === null || progressDelta === undefined || progressDelta <= 0) return null
  return costNanoUsd / progressDelta
}
