// History of a task that ran: asked, marked, linked to, seen as a tree, exported, and imported elsewhere to be read only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, newestInFeed, openScreen, patience, startDemo } from './desk.ts'
import { boxMissing, exodesk, result } from './exodesk.ts'
import { chromiumMissing } from './headless.ts'
import { type OpenDesk, openInChromium } from './hosts.ts'
import { look } from './look.ts'

describe.skipIf(boxMissing ?? chromiumMissing())('the history of a task', { timeout: patience * 2 }, () => {
  let data: string
  let desk: OpenDesk
  let page: Page
  let complaints: string[]
  const faults: string[] = []
  const query = async (text: string) => {
    await byTest(page, 'query').fill(text)
  }
  const hits = (words: RegExp) => byTest(page, 'said').filter({ hasText: words }).waitFor()

  beforeAll(async () => {
    desk = await openInChromium()
    ;({ page, data, complaints } = desk)
    page.setDefaultTimeout(patience)
  })
  afterAll(() => desk?.close())

  it('is there while the task runs', async () => {
    await startDemo(page)
    await expect.poll(() => newestInFeed(page), { timeout: patience }).toBeGreaterThan(80)
    expect((await exodesk(data, ['pause', 'T-1'])).code).toBe(0)
    await openScreen(page, 'History')
    await byTest(page, 'history-row').first().waitFor()
  })

  it('answers a query with counts, and says what is wrong with one and where', async () => {
    await query('kind:tool task:T-1')
    await hits(/hits/)
    const kinds = await byTest(page, 'history-row').locator('.history-kind').allTextContents()
    expect(kinds.length).toBeGreaterThan(2)
    expect(kinds.filter((kind) => !/ tool\./.test(kind))).toEqual([])
    await byTest(page, 'facets')
      .getByRole('button', { name: /^tool\.called/ })
      .click()
    expect(await byTest(page, 'query').inputValue()).toBe('kind:tool task:T-1 kind:tool.called')
    faults.push(...(await look(page, 'history-query')))
    await query('tool:shell cost:1')
    await page.getByText('cost is compared with >').waitFor()
    await query('"nothing says this" task:T-1')
    await page.getByText('No event matches').waitFor()
    await page.getByRole('button', { name: /^Without "nothing says this"/ }).waitFor()
    faults.push(...(await look(page, 'history-nothing')))
  })

  it('keeps a label and a note on an event, finds it by them, and its link leads back to it', async () => {
    await query('kind:model.called')
    await byTest(page, 'history-row').first().click()
    const marks = byTest(page, 'marks')
    await marks.getByLabel('A label for this event').fill('odd')
    await marks.getByRole('button', { name: 'Label' }).click()
    await marks.getByRole('button', { name: 'odd', exact: true }).waitFor()
    await marks.getByLabel('A note on this event').fill('why so long?')
    await marks.getByRole('button', { name: 'Add' }).click()
    await marks.getByText('why so long?').waitFor()
    await byTest(page, 'past').getByText(/^r1/).waitFor()
    faults.push(...(await look(page, 'history-event')))
    await query('label:odd')
    await hits(/^1 hit/)
    const seq = /event (\d+)/.exec(
      (await byTest(page, 'inspector').getByRole('heading').first().textContent()) ?? '',
    )?.[1]
    await page.reload()
    await byTest(page, 'inspector')
      .getByRole('heading', { name: `event ${seq}` })
      .waitFor()
    expect(await byTest(page, 'query').inputValue()).toBe('label:odd')
    await page.keyboard.press('Escape')
    await byTest(page, 'inspector').waitFor({ state: 'detached' })
  })

  it('is a tree of task, turn, step and event, by the keyboard alone', async () => {
    await query('')
    await page.getByRole('button', { name: 'By task' }).click()
    const level = (n: number) => page.locator(`[role="treeitem"][aria-level="${n}"]`)
    await level(1).first().waitFor()
    await page.getByRole('heading', { name: 'History' }).click()
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowRight')
    await level(2).first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowRight')
    await level(3).first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowRight')
    await level(4).filter({ hasText: 'model.called' }).first().waitFor()
    faults.push(...(await look(page, 'history-tree')))
    await page.getByRole('button', { name: 'Newest first' }).click()
  })

  it('forks an agent from an event, having said what that copies and costs', async () => {
    await query('kind:turn.started')
    await byTest(page, 'history-row').first().click()
    await byTest(page, 'fork').click()
    await page.getByText('Forking costs nothing. Running does:').waitFor()
    faults.push(...(await look(page, 'history-fork')))
    await page.getByLabel('Name of the new agent').fill('second')
    await page.getByRole('button', { name: 'Create second' }).click()
    await page.getByText('stands on').waitFor()
    await page.getByRole('contentinfo').or(page.locator('dialog footer')).getByRole('button', { name: 'Close' }).click()
    await query('kind:agent.forked')
    await hits(/^1 hit/)
    await page.keyboard.press('Escape')
  })

  it('leaves as Markdown and as a bundle, which is imported verified and shown, to be read only', async () => {
    await query('')
    await byTest(page, 'export').click()
    await byTest(page, 'redaction').waitFor()
    faults.push(...(await look(page, 'history-export')))
    await page.getByLabel('File on the host').fill(join(data, 'run.md'))
    await byTest(page, 'write').click()
    await byTest(page, 'exported').waitFor()
    expect(readFileSync(join(data, 'run.md'), 'utf8')).toMatch(/^# Exodesk: the whole history/)
    await page.locator('dialog footer').getByRole('button', { name: 'Close' }).click()

    const bundle = join(data, 'all.exodesk')
    const there = join(data, 'imported')
    const written = await result<{ events: number }>(data, ['export', 'bundle', '--to', bundle])
    const imported = await result<{ events: number; head: string }>(data, ['import', bundle, '--to', there])
    expect(imported.events).toBe(written.events)
    expect(await result(there, ['verify'])).toMatchObject({ ok: true, events: written.events, head: imported.head })

    const second = await openInChromium(there)
    try {
      const other = second.page
      other.setDefaultTimeout(patience)
      await openScreen(other, 'History')
      await byTest(other, 'integrity').getByText('imported, read-only').waitFor()
      await byTest(other, 'query').fill('label:odd')
      await byTest(other, 'said')
        .filter({ hasText: /^1 hit/ })
        .waitFor()
      faults.push(...(await look(other, 'history-imported')))
    } finally {
      await second.close()
    }
  })

  it('has no serious accessibility fault, and no complaint of the page', () => {
    expect(faults).toEqual([])
    expect(complaints).toEqual([])
  })
})
