// What a run cost, as a person reads it: the screen, the command line and history say the same.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, patience, startDemo } from './desk.ts'
import { boxMissing, events, exodesk } from './exodesk.ts'
import { chromiumMissing } from './headless.ts'
import { type OpenDesk, openInChromium } from './hosts.ts'
import { look } from './look.ts'

describe.skipIf(boxMissing ?? chromiumMissing())('the costs of a run', { timeout: patience * 2 }, () => {
  let data: string
  let desk: OpenDesk
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    desk = await openInChromium()
    ;({ page, data, complaints } = desk)
    page.setDefaultTimeout(patience)
  })
  afterAll(() => desk?.close())

  it('are the same on the screen, on the command line and in the log, and every part of the screen is reached by keys', async () => {
    await startDemo(page)
    await expect
      .poll(async () => (await events(data, ['model.called'])).length, { timeout: patience })
      .toBeGreaterThan(4)
    await exodesk(data, ['pause', 'T-1'])
    await expect.poll(async () => (await events(data, ['task.paused'])).length, { timeout: patience }).toBe(1)
    const calls = await events(data, ['model.called'])
    const cost = calls.reduce((sum, event) => sum + Number(event.data.costNanoUsd), 0)

    await page.keyboard.press('Control+5')
    await byTest(page, 'cost-totals').waitFor()
    await page.reload()
    const shown = Number(/\$([\d.]+)/.exec((await byTest(page, 'cost-total').textContent()) ?? '')?.[1])
    expect(shown).toBeCloseTo(cost / 1e9, 1)
    const { lines } = await exodesk(data, ['cost', '--task', 'T-1'])
    const report = lines[0] as unknown as { total: { costNanoUsd: number; calls: number }; byModel: unknown[] }
    expect(report.total).toMatchObject({ costNanoUsd: cost, calls: calls.length })
    expect(await byTest(page, 'cost-totals').getByText('simulated').count()).toBeGreaterThan(0)

    await page.locator('[data-testid=cost-cumulative] .chart-plot').focus()
    await page.keyboard.press('End')
    await byTest(page, 'cost-cumulative')
      .getByText(/so far$/)
      .waitFor()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV of cost-T-1-models' }).click()
    expect((await saving).suggestedFilename()).toBe('cost-T-1-models.csv')

    const faults = await look(page, 'cost')
    await page.keyboard.press('5')
    await page.waitForURL(/#\/cost\/all$/)
    await byTest(page, 'cost-totals').getByText('Total of everything').waitFor()
    await page.setViewportSize({ width: 960, height: 640 })
    faults.push(...(await look(page, 'cost-small')))
    expect(faults).toEqual([])
    expect(complaints).toEqual([])
  })
})
