import { createRouterClient } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestHistory, type TestHistory } from './history/fixture.ts'
import { recordNotices, rememberPutAway } from './notice-record.ts'
import { createNotices, type Notices } from './notices.ts'
import { createNoticeDesk } from './operator/notices.ts'
import { createRouter, type OperatorParts } from './operator/router.ts'
import type { Notice } from './wire/operator.ts'

let open: TestHistory
beforeEach(async () => {
  open = await openTestHistory()
})
afterEach(() => open.close())

const low: Notice = {
  ...{ id: 'disk.low', severity: 'warning', text: 'Little space: exodesk archive', fix: null, task: null },
}

/** A host over this history, as each start has one. */
async function start() {
  const notices = createNotices()
  await rememberPutAway(notices, open.history)
  const stop = recordNotices(notices, open.history)
  const hint = (text: string) => text.replace('exodesk', 'npm run exodesk --')
  const desk = createNoticeDesk({ history: open.history, notices, hint })
  const parts = { notices: desk, hint } as unknown as OperatorParts
  return { notices, stop, desk: createRouterClient(createRouter(parts), { context: { via: 'websocket' } }) }
}
const shown = (notices: Notices) => notices.list().map(({ id, isPutAway }) => [id, isPutAway ?? false])
const asShown = { id: low.id, text: 'Little space: npm run exodesk -- archive' }

describe('a notice that was put away', () => {
  it('stays away while it says the same, raised again or not, and over a restart', async () => {
    const first = await start()
    first.notices.raise(low)
    const { seq } = await first.desk.notices.putAway(asShown)
    expect(await open.history.get({ agent: null }, seq)).toMatchObject({
      ...{ kind: 'notice.put-away', actor: 'operator', data: { id: low.id, text: low.text } },
    })
    first.notices.raise({ ...low })
    expect(shown(first.notices)).toEqual([['disk.low', true]])
    first.stop()
    const second = await start()
    second.notices.raise(low)
    second.notices.raise({ ...low, id: 'other' })
    expect(shown(second.notices)).toEqual([
      ['disk.low', true],
      ['other', false],
    ])
  })

  it('comes back when it says something else, and when it happens anew', async () => {
    const { notices, desk, stop } = await start()
    notices.raise(low)
    await desk.notices.putAway(asShown)
    notices.raise({ ...low, text: 'No space' })
    expect(shown(notices)).toEqual([['disk.low', false]])
    notices.raise(low)
    expect(shown(notices)).toEqual([['disk.low', false]])
    await desk.notices.putAway(asShown)
    notices.clear(low.id)
    notices.raise(low)
    expect(shown(notices)).toEqual([['disk.low', false]])
    await desk.notices.putAway(asShown)
    notices.clear(low.id)
    // Events follow one another: once this one is there, so is that it was mended.
    notices.raise({ ...low, id: 'later' })
    for await (const batch of open.history.follow({ agent: null }, { after: 0, signal: new AbortController().signal }))
      if (batch.some((event) => event.kind === 'notice.raised' && event.data.id === 'later')) break
    stop()
    const next = await start()
    next.notices.raise(low)
    expect(shown(next.notices)).toEqual([['disk.low', false]])
  })

  it('was read: what is mended, or says something else by now, is not put away', async () => {
    const { notices, desk } = await start()
    await expect(desk.notices.putAway(asShown)).rejects.toMatchObject({ code: 'not-found' })
    notices.raise(low)
    await expect(desk.notices.putAway({ id: low.id, text: low.text })).rejects.toMatchObject({ code: 'conflict' })
    await expect(desk.notices.putAway({ id: low.id, text: 'x'.repeat(5000) })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    })
    expect(shown(notices)).toEqual([['disk.low', false]])
  })
})
