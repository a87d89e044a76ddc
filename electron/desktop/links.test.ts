import { describe, expect, it } from 'vitest'
import { hrefOfLink, linkAmong } from './links.ts'

describe('a link from outside', () => {
  it.each([
    ['exodesk://proposal/scout/P-118', '#/review/scout/P-118'],
    ['exodesk://task/T-1/', '#/live/T-1'],
    ['exodesk://event/48213', '#/history/48213'],
    ['exodesk://revisions/my%20agent', '#/revisions/my%20agent'],
    ['EXODESK://tool/scout/craft', '#/tools/scout/craft'],
  ])('%s leads to %s', (link, href) => expect(hrefOfLink(link)).toBe(href))

  it.each([
    'exodesk://desk/index.html',
    'exodesk://proposal/scout/P-1?approve=1',
    'exodesk://proposal/P-1/../../x',
    'exodesk://approve/scout/P-1',
    'exodesk://task/%E0%A4%A',
    'exodesk://revisions/%E0%A4%A',
    'https://example.org/proposal/scout/P-1',
    'javascript:alert(1)',
    'exodesk://event/1 2',
    '',
  ])('[U3] %j leads nowhere', (link) => expect(hrefOfLink(link)).toBeNull())

  it('is found among the words that a program was started with', () => {
    expect(linkAmong(['/opt/exodesk', '--data', 'x', 'exodesk://task/T-2'])).toBe('#/live/T-2')
    expect(linkAmong(['/opt/exodesk', 'task/T-2'])).toBeNull()
  })
})
