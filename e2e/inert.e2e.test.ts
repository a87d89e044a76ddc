// Whatever a model, a tool, a pack or an error says, the desk shows it as text: it runs nothing, fetches nothing and leads nowhere.
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byTest, openScreen, patience } from './desk.ts'
import { boxMissing, dataDir, exodesk, removeDataDirs, result, root, start } from './exodesk.ts'
import { chromiumMissing, type Headless, launchChromium, startHeadless } from './headless.ts'

const missing = boxMissing ?? chromiumMissing()

describe.skipIf(missing)('hostile text on the desk', { timeout: patience }, () => {
  let canary: Server
  /** Paths asked of the canary server; the model's own are not counted. */
  const hits: string[] = []
  let origin: string
  let payloads: string[]
  let data: string
  let host: Headless
  let browser: Browser
  let page: Page
  const dialogs: string[] = []
  const popups: string[] = []

  beforeAll(async () => {
    canary = createServer((request, response) => {
      const isModel = request.url?.startsWith('/model/') === true
      if (!isModel) hits.push(request.url ?? '')
      // An endpoint whose error is a payload too.
      response.writeHead(isModel ? 400 : 200).end(JSON.stringify({ error: { message: payloads?.join(' ') ?? '' } }))
    })
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`
    payloads = [
      `![md](${origin}/md.png)`,
      `![ref][r]\n\n[r]: ${origin}/ref.png`,
      `<img src="${origin}/img.png" onerror="window.pwned=1">`,
      '<img src=x onerror=window.pwned=1>',
      '<script>window.pwned=1</script>',
      `<svg onload="window.pwned=1"><image href="${origin}/svg.png"/></svg>`,
      `<iframe src="${origin}/frame" srcdoc="<script>parent.pwned=1</script>"></iframe>`,
      `<style>@import "${origin}/css";*{background:url(${origin}/bg)!important}</style>`,
      `<link rel=stylesheet href="${origin}/link"><meta http-equiv=refresh content="0;url=${origin}/meta">`,
      `<video src="${origin}/video" autoplay></video><object data="${origin}/object"></object>`,
      `<form action="${origin}/form"><button autofocus onfocus="window.pwned=1">x</button></form>`,
      '[js](javascript:window.pwned=1) <a href="javascript:window.pwned=1">js</a>',
      `[data](data:text/html,<script>window.pwned=1</script>) file:///etc/passwd smb://127.0.0.1/x exodesk://desk/ ${origin}/plain`,
      `\u001b]8;;${origin}/osc8\u0007link\u001b]8;;\u0007 \u001b]52;c;cHduZWQ=\u0007 \u001b[31mred`,
      '{{constructor.constructor("window.pwned=1")()}} $' + '{window.pwned=1}',
    ]
    data = dataDir()
    const all = payloads.join('\n')
    const pack = join(data, 'pack')
    mkdirSync(pack)
    const bytes = [...Buffer.from(all)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
    const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args }] })
    const script = [
      { text: all, ...call('shell', { command: `printf '${bytes}'` }) },
      call('shell', { command: `printf '${bytes}' >&2; exit 1` }),
      call(payloads[2] as string, { path: all }),
      call('shell', { command: "printf 'nul:\\000 broken:\\377\\376 end'" }),
      call('complete', { summary: all }),
    ]
    const name = JSON.stringify(payloads.slice(2, 5).join(' ').slice(0, 190))
    writeFileSync(join(pack, 'task.toml'), `schema_version = "1.4"\n[task]\nname = ${name}\ndescription = ${name}\n`)
    const fence = '```'
    writeFileSync(join(pack, 'instruction.md'), `${all}\n\n${fence}script\n${JSON.stringify(script)}\n${fence}\n`)
    await result(data, ['run', pack, '--agent', 'hostile', '--model', 'sim-script'])
    // A proposal whose words and whose file are payloads; the escapes would fail its checks, which is another test.
    const tree = join(data, 'tree')
    const isPolicy = (path: string) => !/\/(tests|tsconfig\.json)$/.test(path)
    cpSync(join(root, 'executor-seed'), tree, { recursive: true, filter: isPolicy })
    const plain = payloads.filter((text) => !text.includes('\u001b'))
    const comments = plain.map((text) => `// ${text.replaceAll('\n', '\n// ')}\n`).join('')
    writeFileSync(join(tree, 'tools', 'hostile.ts'), `${comments}export const hostile = 1\n`)
    appendFileSync(join(tree, 'loop.ts'), "export { hostile } from './tools/hostile.ts'\n")
    writeFileSync(join(tree, 'notes.md'), plain.join('\n\n'))
    const said = ['--why', plain.join('\n').slice(0, 3900), '--claim', plain.slice(2, 5).join(' ').slice(0, 490)]
    // For an agent without a task: words of its own task in a policy are another test.
    await exodesk(data, ['propose', '--agent', 'proposing', '--tree', tree, ...said])
    hits.length = 0
    host = await startHeadless(data)
    // A model whose name is a payload, at an endpoint whose errors are.
    const model = ['--model', payloads[2] as string, '--base-url', `${origin}/model/v1`, '--budget-tokens', '100000']
    const run = start(['run', pack, '--agent', 'other', '--data', data, ...model])
    run.stdout?.resume()
    run.stderr?.resume()
    const attempted = async () =>
      (await exodesk(data, ['history', '--kind', 'model.attempted', '--agent', 'other'])).lines
    while ((await attempted()).length === 0);
    run.kill()
    browser = await launchChromium()
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(60_000)
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    page.on('popup', (popup) => popups.push(popup.url()))
    await page.goto(host.url)
  }, patience)
  afterAll(async () => {
    await browser?.close()
    await host?.stop()
    canary?.close()
    removeDataDirs()
  })

  /** What could only be there if text had become markup, and what a link leads to. */
  const found = () =>
    page.evaluate(() => {
      const root = document.getElementById('root') as HTMLElement
      const tags = 'script, iframe, img, image, object, embed, video, audio, base, meta, link, form[action], style'
      const handlers = [...root.querySelectorAll('*')].filter((one) =>
        [...one.attributes].some(({ name }) => name.startsWith('on')),
      )
      const links = [...document.querySelectorAll('a[href], [href]:not(link)')].map(
        (one) => one.getAttribute('href') ?? '',
      )
      return {
        pwned: 'pwned' in window,
        markup: [...root.querySelectorAll(tags)].filter((one) => one.closest('.monaco-editor') === null).length,
        handlers: handlers.length,
        foreign: links.filter((href) => !href.startsWith('#')),
        // Controls that a terminal or a clipboard would act on.
        controls: /(?![\t\n])[\p{Cc}\u202a-\u202e]/u.test(root.textContent),
        text: root.textContent,
      }
    })
  const clean = { pwned: false, markup: 0, handlers: 0, foreign: [], controls: false }

  it('[U1] [U2] [U3] [U5] [C29] is inert on every screen, and fetches nothing', async () => {
    // The canary does count.
    await fetch(`${origin}/control`)
    expect(hits.splice(0)).toEqual(['/control'])
    const seen: string[] = []
    const look = async (where: string) => {
      const { text, ...rest } = await found()
      expect(rest, where).toEqual(clean)
      seen.push(text)
    }
    await page.getByRole('navigation', { name: 'Screens' }).waitFor()
    await look('home')
    for (const task of ['T-1', 'T-2']) {
      await page.goto(`${new URL(page.url()).origin}/#/live/${task}`)
      await byTest(page, 'live-header').waitFor()
      await byTest(page, 'feed-row').first().waitFor()
      await look(`live ${task}`)
      const rows = await byTest(page, 'feed-row').count()
      for (let row = 0; row < rows; row += 1) {
        await byTest(page, 'feed-row').nth(row).click()
        await byTest(page, 'drawer').waitFor()
        await look(`live ${task}, row ${row}`)
      }
    }
    await openScreen(page, 'Review')
    await byTest(page, 'review-queue-item').first().click()
    await page.locator('.monaco-diff-editor .view-line:visible').first().waitFor()
    await look('review')
    for (let file = 0; file < (await byTest(page, 'file-viewed').count()); file += 1) {
      await byTest(page, 'file-viewed').nth(file).click({ force: true })
      await look(`review, file ${file}`)
    }
    await openScreen(page, 'Revisions')
    await look('revisions')
    await openScreen(page, 'History')
    await look('history')
    // All of it was there to be seen: as text.
    const text = seen.join('\n')
    for (const words of ['<script>window.pwned=1</script>', '<img src="', 'javascript:window.pwned=1', '⟦ESC⟧'])
      expect(text, words).toContain(words)
    expect([hits, dialogs, popups]).toEqual([[], [], []])
  })

  it('shows output with NUL and broken UTF-8 as it can be shown, and kept all of it', async () => {
    const { lines } = await exodesk(data, ['history', '--kind', 'tool.finished', '--limit', '100'])
    const outputs = lines.map((line) => String((line as { data?: { output?: string } }).data?.output ?? ''))
    expect(outputs.some((output) => output.includes('broken:\ufffd\ufffd end'))).toBe(true)
  })

  it('[G18] approves nothing by a key that is pressed when a proposal opens', async () => {
    await openScreen(page, 'Review')
    await byTest(page, 'review-queue-item').first().click()
    await byTest(page, 'approve').waitFor()
    for (const key of ['Enter', ' ', 'Enter']) await page.keyboard.press(key)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-testid'))).not.toBe('approve')
    // A page's own script cannot press it either before everything was viewed and the time is over.
    await byTest(page, 'approve').evaluate((button) => (button as HTMLButtonElement).click())
    const { lines } = await exodesk(data, ['proposals', '--agent', 'proposing', '--all'])
    expect(lines.map((line) => (line as unknown as { state: string }).state)).toEqual(['ready'])
  })

  it('[U7] [C25] refuses whatever a script in the page sends over the page’s own connection', async () => {
    const { answers, closedWith } = await page.evaluate(async () => {
      const open = async () => {
        const socket = new WebSocket(`ws://${location.host}/operator`)
        await new Promise((resolve) => socket.addEventListener('open', resolve))
        return socket
      }
      const socket = await open()
      const heard: string[] = []
      socket.addEventListener('message', ({ data }) => heard.push(String(data)))
      const zeros = '0'.repeat(64)
      const binding = { revision: zeros, base: zeros, checks: zeros, profile: zeros }
      const verdict = { agent: 'proposing', proposal: 'P-1', nonce: 'f'.repeat(32), binding, reason: 'x' }
      const calls: [string, unknown][] = [
        ['/proposals/approve', verdict],
        ['/proposals/reject', { ...verdict, nonce: '' }],
        ['/proposals/approve', { ...verdict, force: true }],
        ['/revisions/rollback', { agent: '../x', activation: 1, expectActive: zeros }],
        ['/tasks/run', { pack: '/etc', sandbox: '--privileged' }],
        ['/tasks/run', { pack: 'x', mounts: ['/:/h'] }],
        ['/constructor', {}],
        ['/proposals/authorise', verdict],
      ]
      calls.forEach(([url, json], index) => {
        socket.send(JSON.stringify({ i: `forged-${index}`, p: { u: url, b: { json } } }))
      })
      // What is asked last is answered: the rest was read before it.
      socket.send(JSON.stringify({ i: 'last', p: { u: '/host/status', b: { json: {} } } }))
      const end = Date.now() + 20_000
      while (Date.now() < end && socket.readyState === WebSocket.OPEN && !heard.some((text) => text.includes('"last"')))
        await new Promise((resolve) => setTimeout(resolve, 50))
      socket.close()

      // What is no message of the contract ends its connection, and no other.
      const closedWith: number[] = []
      const forged = ['orpc:/proposals/approve', '/__proto__/toString'].map((u) =>
        JSON.stringify({ i: '1', p: { u, b: { json: verdict } } }),
      )
      const malformed = [
        '',
        '{',
        'null',
        '[]',
        '\u0000',
        '[['.repeat(5000),
        new Uint8Array([0xff, 0x00, 0xfe]),
        ...forged,
      ]
      for (const raw of malformed) {
        const hostile = await open()
        const closed = new Promise<number>((resolve) => hostile.addEventListener('close', ({ code }) => resolve(code)))
        hostile.send(raw)
        closedWith.push(await Promise.race([closed, new Promise<number>((resolve) => setTimeout(resolve, 20_000, 0))]))
      }
      return { answers: heard, closedWith }
    })
    expect(closedWith).toEqual(closedWith.map(() => 1008))
    expect(closedWith).toHaveLength(9)
    const succeeded = answers.filter((text) => /"forged/.test(text) && !/"s":[45]\d\d/.test(text))
    expect(succeeded).toEqual([])
    expect(answers.filter((text) => text.includes('forged'))).toHaveLength(8)
    const { lines } = await exodesk(data, ['history', '--kind', 'proposal.reviewed'])
    expect(lines).toEqual([])
    // The host is well, and the page with it.
    expect((await exodesk(data, ['tasks'])).code).toBe(0)
  })

  it('[U8] gives a frame inside the page nothing of the desk', async () => {
    const inside = await page.evaluate(async () => {
      const frame = document.createElement('iframe')
      frame.src = location.origin
      document.body.append(frame)
      await new Promise((resolve) => {
        frame.addEventListener('load', resolve)
        setTimeout(resolve, 3000)
      })
      let title = 'out of reach'
      try {
        title = frame.contentDocument?.title || 'nothing'
      } catch {
        // Of another origin: the browser's own error page.
      }
      frame.remove()
      return title
    })
    expect(['nothing', 'out of reach']).toContain(inside)
  })
})
