import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { passphraseSealer } from './passphrase.ts'

const cost = { N: 1024, r: 8, p: 1 }
const plain = randomBytes(32)

async function sealed(passphrase: string): Promise<Buffer> {
  const sealer = passphraseSealer(cost)
  sealer.give?.(passphrase)
  return sealer.seal(plain)
}

async function open(bytes: Buffer, passphrase: string): Promise<Buffer> {
  const sealer = passphraseSealer()
  sealer.give?.(passphrase)
  return sealer.open(bytes)
}

describe('a passphrase', () => {
  it('opens what it sealed, on any machine, with the cost that is written there, however its letters are composed', async () => {
    const bytes = await sealed('caf\u00e9 au lait')
    expect(JSON.parse(bytes.toString())).toMatchObject({ kdf: 'scrypt', ...cost })
    expect(await open(bytes, 'cafe\u0301 au lait')).toEqual(plain)
  })

  it('[S9] that is another one is refused with a text that says so, and what is sealed stays', async () => {
    const bytes = await sealed('the right one')
    const before = Buffer.from(bytes)
    const sealer = passphraseSealer()
    sealer.give?.('the wrong one')
    await expect(sealer.open(bytes)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('wrong passphrase'),
    })
    expect(bytes).toEqual(before)
    // It is not tried a second time, and the next one is.
    expect(await sealer.problem()).toContain('wrong passphrase')
    sealer.give?.('the right one')
    expect(await sealer.open(bytes)).toEqual(plain)
  })

  it('is needed anew for each use, has at least 8 characters, and never stands in what it made', async () => {
    const sealer = passphraseSealer(cost)
    expect(await sealer.problem()).toContain('exodesk key unlock')
    await expect(sealer.seal(plain)).rejects.toMatchObject({ code: 'unavailable' })
    expect(() => sealer.give?.('short')).toThrow(/at least 8/)
    sealer.give?.('long enough')
    const bytes = await sealer.seal(plain)
    expect(await sealer.problem()).not.toBeNull()
    expect(bytes.includes('long enough') || bytes.includes(plain)).toBe(false)
  })

  it('whose cost was changed in the file does not open it, and a cost that would take the machine is refused', async () => {
    const bytes = await sealed('long enough')
    const box = JSON.parse(bytes.toString())
    const changed = (change: object) => open(Buffer.from(JSON.stringify({ ...box, ...change })), 'long enough')
    await expect(changed({ p: 2 })).rejects.toMatchObject({ code: 'forbidden' })
    await expect(changed({ N: 2 ** 30 })).rejects.toThrow(/damaged/)
    await expect(changed({ salt: '' })).rejects.toThrow(/damaged/)
    await expect(open(Buffer.from('nonsense'), 'long enough')).rejects.toThrow(/damaged/)
  })
})
