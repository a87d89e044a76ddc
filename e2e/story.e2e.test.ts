// One person, one task, from the first click to the way back: the whole desk on the real kernel, boxes and simulator.
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  byTest,
  costPerUnit,
  decisions,
  hashOf,
  newestInFeed,
  openProposal,
  openScreen,
  patience,
  paysLess,
  progressOf,
  startDemo,
} from './desk.ts'
import { boxMissing, dataDir, events, exodesk, type HistoryEvent, removeDataDirs, result } from './exodesk.ts'
import { chromiumMissing, type Headless, launchChromium, startHeadless } from './headless.ts'
import { collectComplaints } from './hosts.ts'
import { look } from './look.ts'

const usual = { width: 1280, height: 800 }
/** Below this no window can be made. */
const smallest = { width: 960, height: 600 }
const reason = 'At most 25 actions a call, so that a call always ends'

interface Activation {
  activation: number
  revision: string
  state: string
}
const identity = ({ activation, revision, state }: Activation): Activation => ({ activation, revision, state })

describe.skipIf(boxMissing ?? chromiumMissing())(
  'a person supervises the bundled task',
  { timeout: patience * 2 },
  () => {
    let data: string
    let host: Headless
    let browser: Browser
    let page: Page
    let complaints: string[]
    let agent: string
    const faults: string[] = []

    const activations = async (): Promise<Activation[]> => {
      const { lines } = await exodesk(data, ['revisions', '--agent', agent])
      return (lines as unknown as Activation[]).map(identity).toSorted((a, b) => a.activation - b.activation)
    }
    const treeOf = (revision: string) => join(data, 'boxes', 'revisions', revision)
    const open = async (url: string) => {
      await page?.close()
      page = await browser.newPage({ viewport: usual })
      complaints = collectComplaints(page)
      page.setDefaultTimeout(patience)
      await page.goto(url)
    }

    beforeAll(async () => {
      data = dataDir()
      host = await startHeadless(data)
      browser = await launchChromium()
      await open(host.url)
    })
    afterAll(async () => {
      await browser?.close()
      await host?.stop()
      removeDataDirs()
    })

    it('starts it in one click, and Live shows what happens as it happens', async () => {
      await byTest(page, 'start-demo').and(page.locator(':enabled')).waitFor()
      faults.push(...(await look(page, 'home-empty')))
      await startDemo(page)
      agent = (await events(data, ['task.created']))[0]?.agent ?? ''

      await byTest(page, 'now-line').getByText('NOW', { exact: true }).waitFor()
      await expect.poll(() => newestInFeed(page)).toBeGreaterThan(0)
      const first = await newestInFeed(page)
      await expect.poll(() => newestInFeed(page)).toBeGreaterThan(first)
      await expect.poll(() => progressOf(page)).toBeGreaterThan(0)
      const gained = await progressOf(page)
      await expect.poll(() => progressOf(page)).toBeGreaterThan(gained)
      expect(await byTest(page, 'progress-value').textContent()).toContain('(measured)')
    })

    it('shows cost, tokens by bucket and the cached share, all marked as simulated', async () => {
      await expect.poll(() => byTest(page, 'live-header').textContent()).toMatch(/cached \d+ %/)
      expect(await byTest(page, 'live-header').textContent()).toContain('simulated')
      const tokens = await byTest(page, 'tokens-chart').textContent()
      for (const bucket of ['uncached', 'cache write', 'cache read', 'output']) expect(tokens).toContain(bucket)
      for (const chart of ['tokens-chart', 'cost-chart', 'cost-per-unit'])
        expect(await byTest(page, chart).textContent()).toContain('simulated')
      expect(await byTest(page, 'cost-chart').textContent()).toMatch(/\$0\.\d+/)
      const before = await costPerUnit(page, 1)
      expect(before).toBeGreaterThan(0)
      faults.push(...(await look(page, 'live')))
      await page.keyboard.press('k')
      await byTest(page, 'drawer').waitFor()
      faults.push(...(await look(page, 'live-drawer')))
      await page.keyboard.press('Escape')
      await page.setViewportSize(smallest)
      faults.push(...(await look(page, 'live-narrow')))
      await page.setViewportSize(usual)
    })

    it('announces a proposal without touching what the person is doing', async () => {
      await byTest(page, 'steer').click()
      const words = 'mind the stamina'
      await page.keyboard.type(words)
      const field = page.getByRole('textbox', { name: 'Message to the agent' })
      await decisions(page, 1)
      expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
      expect(await field.inputValue()).toBe(words)
      await page.keyboard.type(' too')
      expect(await field.inputValue()).toBe(`${words} too`)
      expect(page.url()).toMatch(/#\/live\/T-1$/)
      expect(await page.getByRole('dialog').count()).toBe(0)

      await openScreen(page, 'Home')
      const needs = page.getByRole('region', { name: 'Needs you' })
      await needs.getByText('P-1').waitFor()
      faults.push(...(await look(page, 'home-running')))
      await needs.getByRole('link', { name: 'Review' }).click()
    })

    it('shows the diff, its size and what was measured, and only then what the agent claims', async () => {
      await page.locator('.monaco-diff-editor .view-line').first().waitFor()
      expect(await page.locator('.review-head').textContent()).toMatch(/2 files \+\d+ −\d+, tree [\d.]+ KiB/)
      const touched = page.getByRole('navigation', { name: 'Changed files' })
      expect(await touched.textContent()).toMatch(/tools\/index\.ts\+1.*tools\/round_\w+\.ts\+\d+/)
      const order = await byTest(page, 'measured').evaluate((measured) => {
        const claimed = document.querySelector('[data-testid="claimed"]')
        return claimed ? measured.compareDocumentPosition(claimed) & Node.DOCUMENT_POSITION_FOLLOWING : 0
      })
      expect(order).not.toBe(0)
      const checks = await byTest(page, 'check').allTextContents()
      for (const name of ['scope', 'types', 'boot'])
        expect(
          checks.some((check) => check.includes('pass') && check.includes(name)),
          name,
        ).toBe(true)
      expect(await byTest(page, 'approve').textContent()).toContain('view 2 more files first')
      faults.push(...(await look(page, 'review')))
      await page.setViewportSize(smallest)
      faults.push(...(await look(page, 'review-narrow')))
      await page.setViewportSize(usual)
    })

    it('rejects, and not a byte of what runs changes', async () => {
      const before = await activations()
      const active = before[0]?.revision ?? ''
      const tree = hashOf(treeOf(active))
      await page.keyboard.press('Control+Shift+X')
      const field = byTest(page, 'reject-reason')
      expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
      await page.keyboard.type(reason)
      await page.keyboard.press('Control+Enter')
      expect(await byTest(page, 'receipt').count()).toBe(0)
      await page.keyboard.press('Control+Shift+X')
      await byTest(page, 'receipt').waitFor()
      const hashes = await byTest(page, 'receipt')
        .locator('code')
        .evaluateAll((codes) => codes.map((code) => code.getAttribute('title')))
      expect(hashes).toEqual([active, active])
      expect(await byTest(page, 'receipt').textContent()).toContain('Rejected')
      expect(hashOf(treeOf(active))).toBe(tree)
      expect(await activations()).toEqual(before)
    })

    it('tells the agent why, and the agent proposes again, mended', async () => {
      await decisions(page, 1)
      await openProposal(page, 'P-2')
      expect(await byTest(page, 'claimed').textContent()).toContain(reason)
      await page.locator('.file-open', { hasText: 'round_' }).click()
      await page.locator('.monaco-diff-editor .view-line', { hasText: 'mostActions = 25' }).first().waitFor()
      await openScreen(page, 'Review')
      const rejected = byTest(page, 'review-queue-item').filter({ hasText: 'P-1' })
      expect(await rejected.getAttribute('data-state')).toBe('rejected')
      expect(await rejected.textContent()).toContain(reason)
      faults.push(...(await look(page, 'review-queue')))
    })

    it('survives kill -9: nothing seen is gone, the proposal still waits, and the task goes on', async () => {
      await openScreen(page, 'Live')
      await page.getByRole('link', { name: /T-1/ }).click()
      await expect.poll(() => newestInFeed(page)).toBeGreaterThan(0)
      const seen = await newestInFeed(page)
      const told: HistoryEvent[] = []
      for (let more = 1000; more === 1000; ) {
        const { lines } = await exodesk(data, ['history', '--after', String(told.at(-1)?.seq ?? 0), '--limit', '1000'])
        told.push(...(lines as unknown as HistoryEvent[]))
        more = lines.length
      }
      await host.kill()
      await byTest(page, 'status-strip').getByText('disconnected').waitFor()
      await expect.poll(() => newestInFeed(page)).toBeGreaterThanOrEqual(seen)

      host = await startHeadless(data)
      await open(host.url)
      const banner = byTest(page, 'recovered-banner')
      await banner.waitFor()
      expect(await banner.textContent()).toMatch(/Recovered \d+ events: T-1 goes on; 1 turn had been interrupted/)
      faults.push(...(await look(page, 'live-recovered')))
      await banner.getByRole('button', { name: 'Understood' }).click()
      expect(await banner.count()).toBe(0)
      // The desk comes back to where it was.
      expect(page.url()).toMatch(/#\/live\/T-1$/)
      await openScreen(page, 'Home')

      await decisions(page, 1)
      const after = (await exodesk(data, ['history', '--after', '0', '--limit', '1000']))
        .lines as unknown as HistoryEvent[]
      expect(after.slice(0, Math.min(told.length, 1000))).toEqual(told.slice(0, 1000))
      await page.getByRole('link', { name: /T-1/ }).first().click()
      await expect.poll(() => newestInFeed(page)).toBeGreaterThan(told.at(-1)?.seq ?? 0)
      const gained = await progressOf(page)
      await expect.poll(() => progressOf(page)).toBeGreaterThan(gained)
    })

    it('approves only what has been looked at for long enough, by one chord', async () => {
      // The page's clock stands still: waiting is the test's to give.
      const now = Date.now()
      await page.clock.setFixedTime(now)
      await openProposal(page, 'P-2')
      const approve = byTest(page, 'approve')
      const approveAnyhow = async () => {
        await page.keyboard.press('Control+Enter')
        await approve.click({ force: true })
        await approve.dispatchEvent('click')
        await page.keyboard.press('Enter')
      }
      await approveAnyhow()
      expect(await approve.textContent()).toContain('view 2 more files first')
      await page.keyboard.press('v')
      await page.keyboard.press('v')
      await approve.getByText('Approve in a moment').waitFor()
      await approveAnyhow()
      const look799 = async (ms: number) => {
        await page.clock.setFixedTime(now + ms)
        await byTest(page, 'reject-reason').fill(String(ms))
        await byTest(page, 'reject-reason').fill('')
        await byTest(page, 'reject-reason').blur()
      }
      await look799(799)
      await approve.getByText('Approve in a moment').waitFor()
      await approveAnyhow()
      expect(await approve.isDisabled()).toBe(true)
      expect((await events(data, ['proposal.reviewed'])).map((event) => event.data.verdict)).toEqual(['rejected'])
      await look799(801)
      await approve.and(page.locator(':enabled')).waitFor()
      faults.push(...(await look(page, 'review-armed')))
      await page.keyboard.press('Control+Enter')
      await byTest(page, 'receipt').getByText('Approved').waitFor()
      const hashes = await byTest(page, 'receipt')
        .locator('code')
        .evaluateAll((codes) => codes.map((code) => code.getAttribute('title')))
      expect(new Set(hashes).size).toBe(2)
      faults.push(...(await look(page, 'review-receipt')))
      expect((await events(data, ['proposal.reviewed'])).map((event) => event.data.verdict)).toEqual([
        'rejected',
        'approved',
      ])
      await page.clock.resume()
    })

    it('goes on under r2, in the same sandbox and history, and pays less for each unit', async () => {
      const created = (await events(data, ['sandbox.created'])).length
      await openScreen(page, 'Live')
      await page.getByRole('link', { name: /T-1/ }).click()
      await byTest(page, 'live-header').getByRole('link', { name: 'r2' }).waitFor()
      await expect.poll(() => paysLess(page, 2, 1)).toBe(true)
      for (const chart of ['progress-chart', 'cost-per-unit', 'cost-chart', 'tokens-chart'])
        expect(await byTest(page, chart).getByRole('img').getAttribute('aria-label')).toContain('r2 runs from step')
      await byTest(page, 'now-line').getByText('END', { exact: true }).waitFor()
      expect(await progressOf(page)).toBe(600)
      faults.push(...(await look(page, 'live-finished')))
      expect(await events(data, ['sandbox.created'])).toHaveLength(created)
      expect((await events(data, ['task.finished'])).map((event) => event.data.outcome)).toEqual(['completed'])
      expect((await events(data, ['revision.activated'])).map((event) => event.data.activation)).toEqual([1, 2])
    })

    it('rolls back to r1 after a preview, and keeps both', async () => {
      const before = await activations()
      await openScreen(page, 'Revisions')
      await expect.poll(() => byTest(page, 'revision-row').count()).toBe(2)
      await page.getByRole('checkbox', { name: 'compare r1' }).check()
      await page.getByRole('checkbox', { name: 'compare r2' }).check()
      await byTest(page, 'compare').getByText('mostActions = 25').waitFor()
      faults.push(...(await look(page, 'revisions')))
      await page.getByRole('button', { name: 'Roll back to r1…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('r3 becomes active, with the content of r1').waitFor()
      expect(await dialog.textContent()).toMatch(/Tools that go: .*round_/)
      faults.push(...(await look(page, 'rollback-preview')))
      await byTest(page, 'rollback-confirm').click()
      await byTest(page, 'rollback-receipt').waitFor()
      await byTest(page, 'rollback-receipt').getByRole('button', { name: 'Undo: back to r2' }).waitFor()
      await expect.poll(() => byTest(page, 'revision-row').count()).toBe(3)
      const after = await activations()
      expect(after.map(({ activation }) => activation)).toEqual([1, 2, 3])
      expect(after[2]?.revision).toBe(before[0]?.revision)
      expect(after[1]?.revision).toBe(before[1]?.revision)
      expect(after.map(({ state }) => state)).toEqual(['past', 'rolled-back', 'active'])
      expect(await page.getByRole('button', { name: /Roll back to r[13]/ }).count()).toBe(0)
    })

    it('verifies the whole history, from the screen and from outside', async () => {
      await openScreen(page, 'History')
      await byTest(page, 'history-row').first().waitFor()
      await byTest(page, 'verify').click()
      await byTest(page, 'integrity').getByText('chain verified').waitFor()
      await byTest(page, 'history-row').first().click()
      faults.push(...(await look(page, 'history')))
      expect(await result(data, ['verify'])).toMatchObject({ ok: true, firstBadSeq: null })
    })

    it('has no serious accessibility fault on any screen, and no complaint of the page', () => {
      expect(faults).toEqual([])
      expect(complaints).toEqual([])
    })
  },
)
