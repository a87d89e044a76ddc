import { readFileSync, renameSync, writeFileSync } from 'node:fs'

export interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}

export interface WindowState {
  /** null: where the system puts it. */
  bounds: Rectangle | null
  maximized: boolean
}

export const minimum = { width: 960, height: 640 }
const nothing: WindowState = { bounds: null, maximized: false }
/** So much of its top edge must be on a display that a pointer can take hold of it. */
const grip = { width: 120, height: 32 }

/** Anything but a state is none: a window that opens in its usual place is no loss. */
export function readWindowState(file: string): WindowState {
  try {
    const { bounds, maximized } = JSON.parse(readFileSync(file, 'utf8')) as WindowState
    const isWhole = bounds !== null && [bounds.x, bounds.y, bounds.width, bounds.height].every(Number.isFinite)
    return { bounds: isWhole ? bounds : null, maximized: maximized === true }
  } catch {
    return nothing
  }
}

export function writeWindowState(file: string, state: WindowState): void {
  writeFileSync(`${file}.new`, JSON.stringify(state))
  renameSync(`${file}.new`, file)
}

/** @returns null where it would be out of reach: its display is gone. Never larger than the display that it is on. */
export function onDisplay(bounds: Rectangle, workAreas: readonly Rectangle[]): Rectangle | null {
  const area = workAreas.find(
    (area) =>
      overlap(bounds.x, bounds.width, area.x, area.width) >= grip.width &&
      bounds.y >= area.y &&
      bounds.y + grip.height <= area.y + area.height,
  )
  if (area === undefined) return null
  return {
    x: bounds.x,
    y: bounds.y,
    width: Math.max(minimum.width, Math.min(bounds.width, area.width)),
    height: Math.max(minimum.height, Math.min(bounds.height, area.height)),
  }
}

function overlap(from: number, length: number, otherFrom: number, otherLength: number): number {
  return Math.min(from + length, otherFrom + otherLength) - Math.max(from, otherFrom)
}
