// What every screen is held to: no serious accessibility fault in either theme, and a picture of both for the eye.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { root } from './exodesk.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  impact: string | null
  nodes: { target: unknown[]; failureSummary?: string }[]
}

export async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(join(root, 'test-output'), { recursive: true })
  await page.screenshot({ path: join(root, 'test-output', `${name}.png`) })
}

/** Pictures the page as `name-light` and `name-dark`. Returns its serious and critical faults: one line each, none when well. */
export async function look(page: Page, name: string): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    let found = await violations(page)
    // The diff recolours its words a while after the theme has changed: only a fault that stays is one.
    for (let again = 0; found.length > 0 && again < 5; again += 1) found = await violations(page)
    await screenshot(page, `${name}-${colorScheme}`)
    for (const { id, nodes } of found) {
      const where = nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary ?? ''})`).join(', ')
      faults.push(`${name} ${colorScheme}: ${id}: ${where}`)
    }
  }
  return faults
}

async function violations(page: Page): Promise<Violation[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }
    return (await axe.run()).violations
  })
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}
