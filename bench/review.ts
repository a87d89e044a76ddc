// From a proposal in the queue to its diff on the screen, file by file, against Monaco's diff editor alone in the same run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium, type Page } from 'playwright-core'
import { build } from 'vite'
import { atMost, type Bench, quantile, told } from './row.ts'

const root = join(import.meta.dirname, '..')
const renderer = join(root, 'renderer')
/** Of the invented host: ten files of a usual size. */
const proposal = 'P-16'
const rounds = 5

export const bench: Bench = async function* ({ folder }) {
  const desk = join(folder, 'desk')
  await build({
    configFile: join(renderer, 'vite.config.ts'),
    logLevel: 'error',
    build: {
      outDir: desk,
      rolldownOptions: { input: [join(renderer, 'index.html'), join(renderer, 'dev', 'bare.html')] },
    },
  })
  const host = spawn(process.execPath, [join(renderer, 'dev', 'serve.mjs'), '0', 'still'], {
    env: { ...process.env, DESK_FOLDER: desk },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const browser = await chromium.launch({
    executablePath: process.env.EXODESK_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--disable-background-networking', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  })
  try {
    const [url] = (await once(createInterface(host.stdout), 'line')) as [string]
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    const ours = { first: [] as number[], next: [] as number[] }
    const bare = { first: [] as number[], next: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      await page.goto(`${url}dev/bare.html`)
      await page.waitForFunction('window.measureBare')
      const [first = Number.NaN, ...next] = await page.evaluate(() =>
        (globalThis as unknown as { measureBare(): Promise<number[]> }).measureBare(),
      )
      bare.first.push(first)
      bare.next.push(...next)
      const measured = await openAll(page, url)
      ours.first.push(measured.first)
      ours.next.push(...measured.next)
    }
    for (const [what, mine, alone] of [
      ['review: a proposal opened from the queue, diff visible', ours.first, bare.first],
      ['review: the next of its ten files, diff visible', ours.next, bare.next],
    ] as const) {
      const median = quantile(mine, 0.5)
      const ceiling = quantile(alone, 0.5)
      const ratio = median / ceiling
      const told300 = atMost(what, { value: median, unit: 'ms' }, 300)
      const against = told(what, { value: median, unit: 'ms' }, { what: 'Monaco alone', value: ceiling })
      yield { ...against, goal: '≤ 300 ms', ok: told300.ok }
      yield { ...against, figure: `${what}, against it`, goal: '≤ 1.3', ok: ratio <= 1.3 }
    }
  } finally {
    await browser.close()
    host.kill()
    if (host.exitCode === null) await once(host, 'exit')
  }
}

/** From the click in the queue, then from each press of N, until the file's own diff is coloured. */
async function openAll(page: Page, url: string): Promise<{ first: number; next: number[] }> {
  await page.goto(`${url}#/review`)
  const row = page.getByTestId('review-queue-item').filter({ hasText: new RegExp(`^${proposal}\\b`) })
  await row.waitFor()
  // As when someone has read the queue: bare Monaco is measured from where its code is loaded too.
  await page.locator('.review-parked .monaco-diff-editor').waitFor({ state: 'attached' })
  await page.waitForLoadState('networkidle')
  const time = (kind: 'click' | 'keydown') =>
    page.evaluate((name) => {
      const measured = new Promise<number>((resolve) => {
        window.addEventListener(
          name,
          () => {
            const begin = performance.now()
            const look = new MutationObserver(() => {
              const path = document.querySelector('.file-row[aria-current] .file-name')?.textContent
              const editor = document.querySelector('.review-editor:not([data-hidden])')
              if (!path || !editor?.querySelector(`[aria-label="${path}, after"]`)) return
              if (!editor.querySelector('.line-insert')) return
              look.disconnect()
              resolve(performance.now() - begin)
            })
            look.observe(document.body, { subtree: true, childList: true, attributeFilter: ['aria-label'] })
          },
          { once: true, capture: true },
        )
      })
      Object.assign(window, { measured })
    }, kind)
  const read = () => page.evaluate(() => (window as unknown as { measured: Promise<number> }).measured)
  await time('click')
  await row.click()
  const first = await read()
  const next: number[] = []
  for (let file = 1; file < 10; file++) {
    await time('keydown')
    await page.keyboard.press('n')
    next.push(await read())
  }
  return { first, next }
}
