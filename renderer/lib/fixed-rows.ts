import { useCallback, useLayoutEffect, useState } from 'react'

/** Browsers stop laying out a little above 33 million pixels; some scroll unevenly long before. */
const longest = 8_000_000

export interface RowWindow {
  /** Of the scrolled content, pixels. */
  height: number
  first: number
  count: number
  /** Pixels by which the first row lies above the top of the viewport. */
  offset: number
}

/**
 * Which of `count` equally high rows show. Where all of them would be higher than a browser lays out, the scroll range is
 * scaled: every row can still be reached.
 */
export function windowOf(scrollTop: number, viewport: number, count: number, rowHeight: number): RowWindow {
  const whole = count * rowHeight
  const shown = Math.ceil(viewport / rowHeight) + 1
  if (whole <= longest) {
    const first = Math.min(Math.floor(scrollTop / rowHeight), Math.max(0, count - 1))
    return { height: whole, first, count: Math.min(shown, count - first), offset: scrollTop - first * rowHeight }
  }
  const range = longest - viewport
  const position = (Math.min(scrollTop, range) / range) * (whole - viewport)
  const first = Math.min(Math.floor(position / rowHeight), count - 1)
  return { height: longest, first, count: Math.min(shown, count - first), offset: position - first * rowHeight }
}

/** The scroll position at which the row lies within the viewport, as near to the present one as can be. */
export function scrollFor(
  index: number,
  scrollTop: number,
  viewport: number,
  count: number,
  rowHeight: number,
): number {
  const whole = count * rowHeight
  const scale = whole <= longest ? 1 : (longest - viewport) / (whole - viewport)
  const [top, bottom] = [index * rowHeight * scale, ((index + 1) * rowHeight - viewport) * scale]
  if (scrollTop > top) return top
  return scrollTop < bottom ? Math.max(0, bottom) : scrollTop
}

/** Equally high rows in a scroller of its own. */
export function useFixedRows(count: number, rowHeight: number) {
  // As state: it may be mounted long after the hook was first called.
  const [element, scroller] = useState<HTMLElement | null>(null)
  const [place, setPlace] = useState({ scrollTop: 0, viewport: 600 })
  const look = useCallback(() => {
    if (element === null) return
    const next = { scrollTop: element.scrollTop, viewport: element.clientHeight }
    setPlace((before) => (before.scrollTop === next.scrollTop && before.viewport === next.viewport ? before : next))
  }, [element])
  useLayoutEffect(() => {
    if (element === null) return
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [element, look])
  const show = useCallback(
    (index: number) => {
      if (element === null) return
      element.scrollTop = scrollFor(index, element.scrollTop, element.clientHeight, count, rowHeight)
      look()
    },
    [element, count, rowHeight, look],
  )
  const isMounted = element !== null
  return {
    scroller,
    isMounted,
    window: windowOf(place.scrollTop, place.viewport, count, rowHeight),
    onScroll: look,
    show,
  }
}
