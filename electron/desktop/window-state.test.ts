import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { onDisplay, readWindowState, writeWindowState } from './window-state.ts'

const laptop = { x: 0, y: 25, width: 1440, height: 875 }
const beside = { x: 1440, y: 0, width: 2560, height: 1440 }

describe('the place of the window', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'window-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is kept over a restart', () => {
    const state = { bounds: { x: 10, y: 40, width: 1200, height: 800 }, maximized: true }
    writeWindowState(join(folder, 'window.json'), state)
    expect(readWindowState(join(folder, 'window.json'))).toEqual(state)
  })

  it.each(['', '{', 'null', '{"bounds":{"x":"1"}}', '{"bounds":{"x":1,"y":2,"width":3}}'])(
    'is the usual one after %j',
    (text) => {
      writeFileSync(join(folder, 'window.json'), text)
      expect(readWindowState(join(folder, 'window.json'))).toEqual({ bounds: null, maximized: false })
    },
  )

  it('is the same on a display that is still there', () => {
    const bounds = { x: 1500, y: 100, width: 1600, height: 1000 }
    expect(onDisplay(bounds, [laptop, beside])).toEqual(bounds)
    expect(onDisplay({ ...bounds, width: 4000 }, [laptop, beside])?.width).toBe(2560)
  })

  it('is the usual one where its display is gone, or its title could not be reached', () => {
    expect(onDisplay({ x: 1500, y: 100, width: 1600, height: 1000 }, [laptop])).toBeNull()
    expect(onDisplay({ x: 100, y: 2, width: 1200, height: 700 }, [laptop])).toBeNull()
    expect(onDisplay({ x: 1400, y: 100, width: 1200, height: 700 }, [laptop])).toBeNull()
  })
})
