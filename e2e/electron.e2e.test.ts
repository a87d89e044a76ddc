// The approval story in the desktop app: main process, preload and window as built, by keyboard alone after the first click.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, decisions, patience, paysLess, startDemo } from './desk.ts'
import { boxMissing } from './exodesk.ts'
import { hosts, type OpenDesk } from './hosts.ts'
import { look } from './look.ts'

const electron = hosts.find(({ name }) => name === 'electron')

describe.skipIf(boxMissing ?? electron?.missing)('the desktop app', { timeout: patience * 2 }, () => {
  let desk: OpenDesk
  beforeAll(async () => {
    if (electron === undefined) throw new Error('no such host')
    desk = await electron.open()
    desk.page.setDefaultTimeout(patience)
  })
  afterAll(() => desk?.close())

  it('runs the bundled task in one click, up to a proposal', async () => {
    const { page } = desk
    await startDemo(page)
    await byTest(page, 'feed-row').first().waitFor()
    await decisions(page, 1)
    expect(await look(page, 'electron-live')).toEqual([])
  })

  it('lets a person read and approve it without a mouse', async () => {
    const { page } = desk
    await page.keyboard.press('Control+3')
    await byTest(page, 'review-queue-item').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'P-1' }).waitFor()
    await page.locator('.monaco-diff-editor .view-line').first().waitFor()
    await page.keyboard.press('v')
    await page.keyboard.press('v')
    await byTest(page, 'approve').and(page.locator(':enabled')).waitFor()
    expect(await look(page, 'electron-review')).toEqual([])
    await page.keyboard.press('Control+Enter')
    await byTest(page, 'receipt').getByText('Approved').waitFor()
  })

  it('goes on under r2 and pays less for each unit of progress', async () => {
    const { page } = desk
    await page.keyboard.press('Control+2')
    await page.locator('a.task-row', { hasText: 'T-1' }).press('Enter')
    await byTest(page, 'live-header').getByRole('link', { name: 'r2' }).waitFor()
    await expect.poll(() => paysLess(page, 2, 1)).toBe(true)
    await page.keyboard.press('Control+7')
    await byTest(page, 'revision-row').filter({ hasText: 'r2' }).getByText('active').first().waitFor()
  })

  it('goes back to r1 while the task runs, by the same chord twice', async () => {
    const { page } = desk
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Control+Shift+B')
    await page.getByRole('dialog').getByText('r3 becomes active, with the content of r1').waitFor()
    await page.keyboard.press('Control+Shift+B')
    await byTest(page, 'rollback-receipt').waitFor()
    await page.keyboard.press('Escape')
    await expect
      .poll(() => byTest(page, 'revision-row').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-state'))))
      .toEqual(['active', 'rolled-back', 'past'])
    await page.keyboard.press('Control+2')
    await page.locator('a.task-row', { hasText: 'T-1' }).press('Enter')
    await byTest(page, 'live-header').getByRole('link', { name: 'r3' }).waitFor()
    await byTest(page, 'cost-per-unit-r3').waitFor()
    expect(await look(page, 'electron-r3')).toEqual([])
    expect(desk.complaints).toEqual([])
  })
})
