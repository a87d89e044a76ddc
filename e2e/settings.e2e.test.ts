// The shell and Settings by keyboard alone, in both hosts: no task runs, so no box is needed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, patience } from './desk.ts'
import { hosts, type OpenDesk } from './hosts.ts'
import { look } from './look.ts'

const sections = [
  ...['Models and keys', 'Prices', 'Budgets', 'Sandbox', 'Rules', 'Notifications'],
  ...['Data', 'Appearance', 'Accessibility', 'Shortcuts', 'Diagnostics'],
]

describe.each(hosts)('settings in $name', { timeout: patience }, ({ name, missing, open }) => {
  describe.skipIf(missing)('opened', () => {
    let desk: OpenDesk
    beforeAll(async () => {
      desk = await open()
      await byTest(desk.page, 'status-strip').getByText('0 running').waitFor()
    })
    afterAll(() => desk?.close())

    const heading = (text: string) => desk.page.getByRole('heading', { name: text, level: 1, exact: true }).waitFor()
    async function goTo(words: string): Promise<void> {
      await desk.page.keyboard.press('Control+k')
      await desk.page.getByRole('combobox', { name: 'Go to' }).waitFor()
      await desk.page.keyboard.type(words)
      await desk.page.keyboard.press('Enter')
      await desk.page.getByRole('combobox', { name: 'Go to' }).waitFor({ state: 'detached' })
    }

    it('goes anywhere by the palette, and says what Enter alone does not do', async () => {
      const { page } = desk
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Go to' }).waitFor()
      await page.keyboard.type('resume all')
      await page.keyboard.press('Enter')
      await page.getByText('Enter alone must not do it by accident').waitFor()
      expect(await look(page, `palette-${name}`)).toEqual([])
      await page.keyboard.press('Escape')
      await goTo('appear')
      await heading('Appearance')
      await goTo('#2')
      await page.waitForURL(/#\/history\/2$/)
      await goTo('home')
      await page.getByRole('link', { name: 'Home' }).and(page.locator('[aria-current="page"]')).waitFor()
    })

    it('keeps the look, and the place where the desk was left, over a new start of the page', async () => {
      const { page } = desk
      await page.emulateMedia({ colorScheme: 'light' })
      await goTo('theme dark')
      await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
      await goTo('accessib')
      await heading('Accessibility')
      await page.getByRole('radio', { name: 'More' }).focus()
      await page.keyboard.press('Space')
      await page.getByRole('radio', { name: 'More' }).and(page.locator(':checked')).waitFor()
      await page.getByRole('button', { name: 'Reset Contrast' }).waitFor()
      await page.evaluate(() => localStorage.clear())
      await page.goto(new URL('/', page.url()).href)
      await heading('Accessibility')
      const { theme, contrast } = await page.evaluate(() => ({ ...document.documentElement.dataset }))
      expect({ theme, contrast }).toEqual({ theme: 'dark', contrast: 'more' })
      await page.getByRole('button', { name: 'Reset Contrast' }).press('Enter')
      await goTo('follow system')
      await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBeUndefined()
    })

    it('gives a key another, refuses what is taken, and gives it back', async () => {
      const { page } = desk
      await goTo('shortcuts remap')
      await heading('Shortcuts')
      const key = (text: string) => page.getByRole('button', { name: new RegExp(`^${text}: .*Give another key$`) })
      await key('Home').press('Enter')
      await page.keyboard.press('Control+3')
      await page.getByRole('alert').getByText('Ctrl+3 is “Review” (Everywhere).').waitFor()
      await page.keyboard.press('Control+Shift+h')
      await expect.poll(() => key('Home').textContent()).toBe('Ctrl+Shift+H')
      expect(await look(page, `shortcuts-${name}`)).toEqual([])
      await page.keyboard.press('Control+1')
      await heading('Shortcuts')
      await page.keyboard.press('Control+Shift+h')
      await page.waitForURL(/#\/home$/)
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Ctrl+Shift+H').waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+9')
      await goTo('shortcuts remap')
      await page.getByRole('button', { name: 'Reset all' }).press('Enter')
      await expect.poll(() => key('Home').textContent()).toBe('Ctrl+1')
    })

    it('tests a model by one metered call, verifies history, and reports without secrets', async () => {
      const { page } = desk
      await goTo('models and keys')
      await page.getByRole('combobox', { name: 'Model' }).fill('sim-apprentice')
      await page.keyboard.press('Enter')
      const outcome = byTest(page, 'model-test')
      await outcome.getByText('✓ It answers').waitFor({ timeout: patience })
      expect(await outcome.textContent()).toMatch(/simulated.*\$0\.0\d+ · .* in, .* out/)
      await goTo('data sizes')
      await page.getByRole('button', { name: 'Verify all of history' }).press('Enter')
      await byTest(page, 'verify-report')
        .getByText(/^✓ All \d+ events/)
        .waitFor({ timeout: patience })
      await goTo('diagnostics')
      await page.getByRole('group', { name: 'Diagnostics' }).waitFor()
      const report = (await page.getByRole('group', { name: 'Diagnostics' }).textContent()) ?? ''
      expect(report).toMatch(/^Exodesk +\d.*(headless|desktop) host, contract /)
      expect(report).toMatch(/^sandbox (local|docker) /m)
    })

    it('says so where a pause finds nothing to pause, from every screen', async () => {
      const { page } = desk
      await page.keyboard.press('Control+4')
      await page.keyboard.press('Control+Shift+.')
      await byTest(page, 'pausing-said').getByText('No task runs: nothing was paused.').waitFor()
      await page.getByRole('button', { name: 'Clear this message' }).press('Enter')
      await byTest(page, 'pausing-said').waitFor({ state: 'detached' })
    })

    if (name === 'electron') return // The pages are the same; axe has been over them in the browser.
    it('has no serious accessibility fault in any section, light or dark', async () => {
      const { page } = desk
      await page.keyboard.press('Control+9')
      for (const [at, section] of sections.entries()) {
        if (at > 0) await page.keyboard.press('j')
        await heading(section)
        expect(await look(page, `settings-${section.toLowerCase().replaceAll(' ', '-')}`)).toEqual([])
      }
      expect(desk.complaints).toEqual([])
    })
  })
})
