import type { DecisionTime } from '../../kernel/wire/operator-decision-time.ts'
import { duration, whole } from './format.ts'

const minuteMs = 60_000

/** Of the x-th window, from 1: the active minute at which it begins; '' outside. */
export function windowLabel({ windowMs }: DecisionTime, x: number): string {
  return x < 1 ? '' : `${((x - 1) * windowMs) / minuteMs} min`
}

/** One window in words. */
export function windowText({ windows, windowMs }: DecisionTime, index: number): string {
  const each = windows[index]
  if (!each) return ''
  const span = `active minutes ${each.fromMs / minuteMs}–${(each.fromMs + windowMs) / minuteMs}`
  if (each.medianMs === null) return `${span}: no decision`
  return `${span}: median ${duration(each.medianMs)}, longest ${duration(each.longestMs)}, n = ${whole(each.decisions)}`
}

/** The chart in words. */
export function windowsText({ windows, windowMs, activeMs }: DecisionTime): string {
  const count = windows.reduce((sum, { decisions }) => sum + decisions, 0)
  const latest = windows.findLast(({ medianMs }) => medianMs !== null)
  return `Median time from input to the next action, by ${windowMs / minuteMs} minutes of active time: ${duration(latest?.medianMs)} in the latest of ${windows.length}, over ${whole(count)} decisions in ${duration(activeMs)}.`
}

/** Rows for a table and for CSV. */
export function windowRows({ windows }: DecisionTime) {
  return {
    head: ['active_from_min', 'decisions', 'median_ms', 'longest_ms'],
    rows: windows.map((each) => [each.fromMs / minuteMs, each.decisions, each.medianMs, each.longestMs]),
  }
}
