import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hosts, type OpenDesk } from './hosts.ts'
import { screenshot } from './look.ts'

describe.each(hosts)('the shell in $name', ({ name, missing, open }) => {
  describe.skipIf(missing)('opened', () => {
    let desk: OpenDesk
    beforeAll(async () => {
      desk = await open()
    })
    afterAll(() => desk?.close())

    it('shows the desk, without a complaint of the page', async () => {
      await desk.page.locator('#root > *').first().waitFor()
      expect(await desk.page.title()).toBe('Exodesk')
      await screenshot(desk.page, `shell-${name}`)
      expect(desk.complaints).toEqual([])
    })

    it('[C27] gives the page neither Node nor Electron', async () => {
      const reach = await desk.page.evaluate(() =>
        ['require', 'process', 'module', 'Buffer', 'electron'].filter((n) => n in globalThis),
      )
      expect(reach).toEqual([])
    })

    it('[C27] runs no inline script and reaches no foreign origin', async () => {
      const result = await desk.page.evaluate(async () => {
        const script = document.createElement('script')
        script.textContent = 'globalThis.inlineRan = true'
        document.body.append(script)
        const reached = await fetch('http://127.0.0.1:9/').then(
          () => true,
          () => false,
        )
        return { inlineRan: 'inlineRan' in globalThis, reached }
      })
      expect(result).toEqual({ inlineRan: false, reached: false })
    })

    if (name === 'chromium') return // The rest is the window's own duty.
    it('[C27] [U3] opens no second window, grants nothing and never leaves the desk', async () => {
      const before = desk.page.url()
      const result = await desk.page.evaluate(async () => {
        const opened = window.open('https://desk.example/')
        window.location.href = 'https://desk.example/'
        await new Promise((resolve) => setTimeout(resolve, 300))
        const { state } = await navigator.permissions.query({ name: 'geolocation' })
        return { opened, geolocation: state }
      })
      expect(result).toEqual({ opened: null, geolocation: 'denied' })
      expect(desk.page.url()).toBe(before)
    })
  })
})
