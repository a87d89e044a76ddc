import { describe, expect, it } from 'vitest'
import { contractNotice } from './contract.ts'

describe('a page', () => {
  it('that was built for another version than its host says to reload', () => {
    expect(contractNotice('new', 'old')).toMatchObject([{ severity: 'error', fix: expect.stringContaining('Reload') }])
  })

  it('says nothing where both are of one version, or where that cannot be known', () => {
    expect(
      [
        contractNotice('a', 'a'),
        contractNotice(null, 'a'),
        contractNotice(undefined, 'a'),
        contractNotice('a', null),
      ].flat(),
    ).toEqual([])
  })
})
