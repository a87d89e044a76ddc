// The desk as a person uses it: where things are on its pages, and what they say.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** As long as a loaded machine may take; nothing is asserted of it. */
export const patience = 5 * 60_000

export const byTest = (page: Page, id: string) => page.getByTestId(id)

export async function openScreen(
  page: Page,
  name: 'Home' | 'Live' | 'Review' | 'History' | 'Revisions',
): Promise<void> {
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click()
}

/** The bundled task with the offline model, in one click. Ends on its Live screen. */
export async function startDemo(page: Page): Promise<void> {
  await byTest(page, 'start-demo').click()
  await page.waitForURL(/#\/live\/T-1$/)
}

/** Measured progress as the now-line prints it. */
export async function progressOf(page: Page): Promise<number> {
  const text = (await byTest(page, 'progress-value').textContent()) ?? ''
  return Number(/^([\d.,]+)/.exec(text.trim())?.[1]?.replaceAll(',', '') ?? 0)
}

/** The newest event that the feed shows, by its number in history. */
export async function newestInFeed(page: Page): Promise<number> {
  const titles = await byTest(page, 'feed-row').evaluateAll((rows) =>
    rows.map((row) => row.getAttribute('title') ?? ''),
  )
  return Math.max(0, ...titles.map((title) => Number(/^event (\d+)/.exec(title)?.[1] ?? 0)))
}

/** Cost per unit of progress of one activation in dollars, as the table prints it; null while it says "—". */
export async function costPerUnit(page: Page, activation: number): Promise<number | null> {
  const cell = byTest(page, `cost-per-unit-r${activation}`).locator('strong')
  if ((await cell.count()) === 0) return null
  const dollars = /\$([\d.]+)/.exec((await cell.textContent()) ?? '')?.[1]
  return dollars === undefined ? null : Number(dollars)
}

/** Whether the table says that a unit of progress costs less under one activation than under another. */
export async function paysLess(page: Page, activation: number, than: number): Promise<boolean> {
  const [now, then] = [await costPerUnit(page, activation), await costPerUnit(page, than)]
  return now !== null && then !== null && now < then
}

/** Waits on any screen until the rail counts so many decisions. */
export async function decisions(page: Page, count: number): Promise<void> {
  await page.locator('.rail-count', { hasText: new RegExp(`^${count}\\b`) }).waitFor()
}

/** Opens one proposal and waits for its diff. */
export async function openProposal(page: Page, proposal: string): Promise<void> {
  await openScreen(page, 'Review')
  await byTest(page, 'review-queue-item').filter({ hasText: proposal }).click()
  await page.getByRole('heading', { name: proposal }).waitFor()
  await page.locator('.monaco-diff-editor .view-line').first().waitFor()
}

/** Every file below a folder, name and bytes, as one hash. */
export function hashOf(folder: string): string {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort()
  expect(paths.length).toBeGreaterThan(0)
  for (const path of paths) {
    const bytes = readFileSync(path)
    hash.update(`${relative(folder, path)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}
