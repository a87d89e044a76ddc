// Every verdict by the keyboard alone, on the real kernel in both hosts: what it does, and what it must not do.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, openScreen, patience } from './desk.ts'
import { boxMissing, events, exodesk, result, root } from './exodesk.ts'
import { hosts, type OpenDesk } from './hosts.ts'
import { look } from './look.ts'

const trees: string[] = []

/** The starting policy with edits, as a folder. */
function treeWith(edit: (read: (path: string) => string) => Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'exodesk-tree-'))
  trees.push(dir)
  const from = join(root, 'executor-seed')
  cpSync(from, dir, { recursive: true, filter: (path) => !/\/(tsconfig\.json|tests)$/.test(path.slice(from.length)) })
  const edits = edit((path) => readFileSync(join(from, path), 'utf8'))
  for (const [path, text] of Object.entries(edits)) writeFileSync(join(dir, path), text)
  return dir
}

/** Two hunks, far from each other. */
const twoHunks = () =>
  treeWith((read) => {
    const loop = read('loop.ts')
    return { 'loop.ts': `export const FIRST = 1 // first of two\n${loop}export const SECOND = 2 // second of two\n` }
  })

const runnable = hosts.filter(({ missing }) => boxMissing === null && missing === null)
it.runIf(runnable.length === 0)('has a host to run in', (context) => context.skip('no host can run here'))

describe.each(runnable)('a verdict by the keyboard in $name', { timeout: patience * 2 }, ({ name, open: openDesk }) => {
  let desk: OpenDesk
  let data: string
  let page: Page
  let complaints: string[]
  const faults: string[] = []
  const lookAt = async (what: string) => faults.push(...(await look(page, `${what}-${name}`)))

  const propose = async (agent: string, tree: string) => {
    const args = ['propose', '--agent', agent, '--tree', tree, '--why', 'to be decided', '--claim', `for ${agent}`]
    const { code, stderr } = await exodesk(data, args)
    if (code !== 0 && code !== 1) throw new Error(`not proposed: ${stderr}`)
  }
  const active = async (agent: string) => {
    const { lines } = await exodesk(data, ['revisions', '--agent', agent])
    const rows = lines as unknown as { activation: number; revision: string }[]
    return rows.toSorted((a, b) => b.activation - a.activation)[0]?.revision ?? ''
  }
  const open = async (agent: string, proposal = 'P-1') => {
    await openScreen(page, 'Review')
    await page.evaluate((hash) => {
      location.hash = hash
    }, `#/review/${agent}/${proposal}`)
    await page.getByRole('heading', { name: `${proposal} of ${agent}` }).waitFor()
  }
  const openDiff = async (agent: string, proposal = 'P-1') => {
    await open(agent, proposal)
    await page.locator('.monaco-diff-editor .view-line').filter({ visible: true }).first().waitFor()
    await byTest(page, 'hunk-bar')
      .getByText(/^hunk \d/)
      .waitFor()
    // Verdicts are not taken in the first moments: the button says when it is over.
    await byTest(page, 'defer').and(page.locator(':enabled')).waitFor()
  }
  /** Presses a chord until the page shows that it was taken: in the first 800 ms it is not. */
  const pressUntil = async (chord: string, done: () => Promise<boolean>) => {
    await expect
      .poll(async () => {
        if (await done()) return true
        await page.keyboard.press(chord)
        return done()
      })
      .toBe(true)
  }
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid') ?? null)
  const has = (id: string) => async () => (await byTest(page, id).count()) > 0
  const reviewed = async (agent: string) =>
    (await events(data, ['proposal.reviewed'])).filter((event) => event.agent === agent).map((event) => event.data)

  /** Moves on by Tab until the focus is where it is wanted. */
  const tabTo = async (selector: string) => {
    for (let steps = 0; steps < 80; steps += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`Tab does not lead to ${selector}`)
  }

  beforeAll(async () => {
    desk = await openDesk()
    page = desk.page
    data = desk.data
    complaints = desk.complaints
    await page.setViewportSize({ width: 1440, height: 900 })
    page.setDefaultTimeout(patience)
    await openScreen(page, 'Review')
  })
  afterAll(async () => {
    await desk?.close()
    for (const dir of trees.splice(0)) rmSync(dir, { recursive: true, force: true })
  })

  it('rejects with a reason, and not a byte of what is active changes', async () => {
    await propose('rejects', twoHunks())
    const before = await active('rejects')
    await openDiff('rejects')
    await lookAt('review-loop')
    await pressUntil('Control+Shift+X', async () => (await focused()) === 'reject-reason')
    await page.keyboard.type('not this way')
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('Control+Shift+Enter')
    expect(await byTest(page, 'receipt').count()).toBe(0)
    await page.keyboard.press('Control+Shift+X')
    await byTest(page, 'receipt').getByText('✗ Rejected').waitFor()
    // A revision's name is the hash of its bytes, and history holds them to it.
    expect(await active('rejects')).toBe(before)
    expect((await exodesk(data, ['verify'])).code).toBe(0)
    expect(await reviewed('rejects')).toMatchObject([{ verdict: 'rejected', reason: 'not this way' }])
  })

  it('returns with a comment on a line, and a reload in between loses neither comment nor reason', async () => {
    await propose('returns', twoHunks())
    await openDiff('returns')
    await page.keyboard.press('j')
    await page.keyboard.press('c')
    await page.keyboard.type('say why')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await byTest(page, 'comments').getByText('say why').waitFor()
    await pressUntil('Control+Shift+R', async () => (await focused()) === 'reject-reason')
    await page.keyboard.type('half of it is good')
    await page.reload()
    await byTest(page, 'comments').getByText('say why').waitFor()
    expect(await byTest(page, 'reject-reason').inputValue()).toBe('half of it is good')
    await lookAt('review-comment')
    await pressUntil('Control+Shift+R', has('receipt'))
    await byTest(page, 'receipt').getByText('↩ Returned').waitFor()
    const [verdict] = await reviewed('returns')
    expect(verdict).toMatchObject({ verdict: 'returned', reason: 'half of it is good' })
    expect(verdict?.comments).toMatchObject([{ path: 'loop.ts', side: 'after', line: 1, text: 'say why' }])
  })

  it('shows a comment on an added file below its line, all of it', async () => {
    await propose(
      'adds',
      treeWith((read) => ({
        'added.ts': 'export const one = 1\nexport const two = 2\nexport const three = 3\n',
        'loop.ts': `import { one } from './added.ts'\n${read('loop.ts')}export const ONE = one\n`,
      })),
    )
    await openDiff('adds')
    await page.locator('.file-open', { hasText: 'added.ts' }).press('Enter')
    await page.locator('[aria-label="added.ts, after"]').first().waitFor({ state: 'attached' })
    await page.keyboard.press('c')
    const words = `${'a long remark '.repeat(30)}and its end`
    await page.keyboard.type(words)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const zone = page.locator('.editor.modified .comment-words')
    await zone.waitFor()
    expect(await zone.textContent()).toBe(words)
    const box = async (of: typeof zone) => (await of.boundingBox()) ?? { y: 0, height: 0 }
    const line = page.locator('.editor.modified .view-line').filter({ hasText: /two/ })
    // Below its line, above the next, and as high as its text.
    await expect
      .poll(async () => (await box(line)).y - (await box(zone)).y - (await box(zone)).height)
      .toBeGreaterThan(-1)
    expect((await box(zone)).y).toBeGreaterThan(
      (await box(page.locator('.editor.modified .view-line').filter({ visible: true }).first())).y,
    )
    expect(await zone.evaluate((each) => each.scrollHeight - each.clientHeight)).toBe(0)
    await lookAt('review-added-comment')
    // One column hides a side: with two again, its lines are wrapped as those of the other.
    await page.locator('.file-open', { hasText: 'loop.ts' }).press('Enter')
    await page.locator('[aria-label="loop.ts, before"]').first().waitFor({ state: 'attached' })
    const cut = () =>
      page.locator('.editor.original .view-lines').evaluate((lines) => {
        const room = lines.closest('.editor')?.clientWidth ?? 0
        return [...lines.querySelectorAll('span')].some((each) => each.offsetWidth > room)
      })
    await expect.poll(cut).toBe(false)
  })

  it('folds and widens the panes beside the diff by keys', async () => {
    const width = async () => (await byTest(page, 'review-diff').boundingBox())?.width ?? 0
    const before = await width()
    await page.keyboard.press(']')
    await page.keyboard.press('[')
    expect(await byTest(page, 'measured').count()).toBe(0)
    expect(await width()).toBeGreaterThan(before + 400)
    await page.keyboard.press(']')
    await page.keyboard.press('[')
    await tabTo('hr[aria-label="Width of the evidence"]')
    await page.keyboard.press('ArrowRight')
    await expect.poll(width).toBe(before + 16)
    await page.keyboard.press('ArrowLeft')
  })

  it('defers, and the queue says until when', async () => {
    await propose('defers', twoHunks())
    await openDiff('defers')
    await pressUntil('Control+Shift+D', async () => (await page.getByText(/Deferred until .*: event \d+/).count()) > 0)
    await openScreen(page, 'Review')
    const row = byTest(page, 'review-queue-item').filter({ hasText: 'for defers' })
    await row.getByText(/deferred, back in/).waitFor()
    await lookAt('review-deferred')
    expect(await reviewed('defers')).toMatchObject([{ verdict: 'deferred' }])
  })

  it('approves a part, which is a proposal of its own with only the hunks that were kept', async () => {
    await propose('parts', twoHunks())
    await openDiff('parts')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await byTest(page, 'hunk-bar').getByText('hunk 2/2').waitFor()
    await page.keyboard.press('x')
    await byTest(page, 'derive').getByText('Approve 1 of 2 hunks').waitFor()
    expect(await byTest(page, 'approve').isDisabled()).toBe(true)
    await pressUntil('Control+Shift+Enter', async () => /P-2$/.test(page.url()))
    await byTest(page, 'predecessor').getByText('A part of').waitFor()
    const { lines } = await exodesk(data, ['proposals', 'P-2', '--agent', 'parts'])
    const derived = lines.at(-1) as unknown as { diff: string; derivedFrom: { how: string } }
    expect(derived.derivedFrom.how).toBe('part')
    expect(derived.diff).toContain('+export const FIRST')
    expect(derived.diff).not.toContain('second of two')
  })

  it('saves an edit as a proposal of both authors', async () => {
    await propose('edits', twoHunks())
    await openDiff('edits')
    await page.keyboard.press('e')
    await page.locator('[data-editing] .editor.modified .view-line').first().waitFor()
    await page.keyboard.press('Control+Home')
    // As fast as keys come: what was typed is never overtaken by what was kept of it before.
    const typed = '// of the operator, with j k a x '.repeat(8)
    await page.keyboard.type(typed)
    await byTest(page, 'derive').getByText('Save edit: 1 file').waitFor()
    await page.keyboard.press('Control+Enter')
    await lookAt('review-edit')
    await pressUntil('Control+s', async () => /P-2$/.test(page.url()))
    await byTest(page, 'predecessor').getByText('An edit of').waitFor()
    const { lines } = await exodesk(data, ['proposals', 'P-2', '--agent', 'edits'])
    const derived = lines.at(-1) as unknown as { diff: string; derivedFrom: { operatorLines: number } }
    expect(derived.diff).toContain(typed)
    expect(derived.derivedFrom.operatorLines).toBeGreaterThan(0)
    expect(await reviewed('edits')).toEqual([])
  })

  it('[G18] takes no focus and no chord from who is typing while a proposal arrives', async () => {
    await propose('types', twoHunks())
    await openDiff('types')
    await pressUntil('Control+Shift+X', async () => (await focused()) === 'reject-reason')
    await page.keyboard.type('a long ')
    const url = page.url()
    await propose('arrives', twoHunks())
    await page.locator('.rail-count').waitFor()
    expect(await focused()).toBe('reject-reason')
    await page.keyboard.type('reason')
    for (const chord of ['Control+Enter', 'Control+Shift+Enter', 'Enter']) await page.keyboard.press(chord)
    expect(await byTest(page, 'reject-reason').inputValue()).toBe('a long reason')
    expect(page.url()).toBe(url)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await reviewed('types')).toEqual([])
  })

  it('[G1] takes no verdict for what was looked at before another revision became active', async () => {
    await propose(
      'moves',
      treeWith((read) => ({ 'SELF.md': `${read('SELF.md')}\nOne line more.\n` })),
    )
    const unresolved = await exodesk(data, ['proposals', 'P-1', '--agent', 'moves'])
    const overridden = (unresolved.lines.at(-1) as unknown as { unresolved: string[] }).unresolved
    await result(data, [
      'approve',
      'P-1',
      '--agent',
      'moves',
      ...overridden.flatMap((check) => ['--override', `${check}=nothing to replay`]),
    ])
    await propose('moves', twoHunks())
    await openDiff('moves', 'P-2')
    await page.keyboard.press('v')
    await result(data, ['rollback', 'r1', '--agent', 'moves', '--reason', 'back'])
    await byTest(page, 'no-verdict').waitFor()
    for (const chord of ['Control+Enter', 'Control+Shift+X']) await page.keyboard.press(chord)
    expect((await reviewed('moves')).map((verdict) => verdict.proposal)).toEqual(['P-1'])
    await lookAt('review-stale')
  })

  it('approves once everything is viewed, decided and reasoned, by one chord that is held where the risk is high', async () => {
    await propose('approves', twoHunks())
    const before = await active('approves')
    await openDiff('approves')
    expect(await byTest(page, 'approve').isDisabled()).toBe(true)
    for (const key of ['j', 'a', 'j', 'a', 'v']) await page.keyboard.press(key)
    for (const check of await page.locator('.override textarea').all()) {
      await tabTo(`[data-testid="${await check.getAttribute('data-testid')}"]`)
      await page.keyboard.type('nothing recorded reaches it')
    }
    await tabTo('[data-testid="reject-reason"]')
    await page.keyboard.type('read, both of them')
    // In a field the chord does nothing.
    await tabTo('[data-testid="defer"]')
    await byTest(page, 'approve').and(page.locator(':enabled')).waitFor()
    await lookAt('review-approve')
    await page.keyboard.down('Control')
    await page.keyboard.down('Enter')
    await byTest(page, 'receipt').getByText('Approved').waitFor()
    await page.keyboard.up('Enter')
    await page.keyboard.up('Control')
    await expect.poll(() => active('approves')).not.toBe(before)
    const [verdict] = await reviewed('approves')
    expect(verdict).toMatchObject({ verdict: 'approved', onBreach: 'propose' })
    expect(verdict?.looked).toMatchObject({ files: 1, of: 1 })
  })

  it('[G9] shows all of twenty thousand lines, and approves none of them before they were read', async () => {
    const rows = ['export const rows = [', ...Array.from({ length: 20_000 }, (_, n) => `  ${n},`), ']'].join('\n')
    await propose(
      'floods',
      treeWith(() => ({ 'rows.ts': `${rows}\n` })),
    )
    await open('floods')
    await byTest(page, 'huge-file').waitFor()
    await byTest(page, 'huge-file')
      .getByText(/20 002 lines/)
      .waitFor()
    const parts = Number(/shown in (\d+) parts/.exec((await byTest(page, 'huge-file').textContent()) ?? '')?.[1])
    expect(parts).toBeGreaterThan(20)
    // The kernel's own checks may have refused it already: then there is no verdict to give.
    await byTest(page, 'approve').or(byTest(page, 'no-verdict')).first().waitFor()
    if ((await byTest(page, 'approve').count()) > 0) {
      await page.keyboard.press('v')
      await byTest(page, 'review-note').getByText('Read all of its parts first').waitFor()
      expect(await byTest(page, 'approve').isDisabled()).toBe(true)
    }
    await lookAt('review-huge')
    const shown = new Set<string>()
    for (let part = 0; part < parts; part += 1) {
      await byTest(page, 'next-part').press('Enter')
      const text = page.locator('.huge-text')
      for (const line of ((await text.textContent()) ?? '').split('\n')) shown.add(line)
      await text.evaluate((element) => element.scrollTo(0, element.scrollHeight))
      await byTest(page, 'huge-file')
        .getByText(`${part + 1} of ${parts} read`)
        .waitFor()
    }
    expect(rows.split('\n').filter((line) => !shown.has(line))).toEqual([])
  })

  it('has no serious accessibility fault in any of it, and no complaint of the page', () => {
    expect(faults).toEqual([])
    expect(complaints).toEqual([])
  })
})
