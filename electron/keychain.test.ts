import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Keychain, keychainSealer } from './keychain.ts'

/** As Electron's on one machine: seals under a key of its own. No real keychain can be had in a test. */
function machine(backend: ReturnType<Keychain['getSelectedStorageBackend']> = 'gnome_libsecret'): Keychain {
  const key = randomBytes(32)
  return {
    isAsyncEncryptionAvailable: async () => true,
    getSelectedStorageBackend: () => backend,
    async encryptStringAsync(text) {
      const cipher = createCipheriv('aes-256-gcm', key, Buffer.alloc(12))
      return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
    },
    async decryptStringAsync(sealed) {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.alloc(12)).setAuthTag(sealed.subarray(-16))
      const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
      return { result: plain.toString(), shouldReEncrypt: false }
    },
  }
}

const plain = randomBytes(32)

describe('the keychain', () => {
  it('opens what it sealed', async () => {
    const sealer = keychainSealer(machine(), 'linux')
    expect(await sealer.problem()).toBeNull()
    const sealed = await sealer.seal(plain)
    expect(sealed.includes(plain)).toBe(false)
    expect(await sealer.open(sealed)).toEqual(plain)
  })

  it('[S9] of another machine is told apart, with what to do', async () => {
    const sealed = await keychainSealer(machine(), 'linux').seal(plain)
    await expect(keychainSealer(machine(), 'linux').open(sealed)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('move credentials.json away'),
    })
  })

  it.each<[string, Partial<Keychain>, RegExp]>([
    ['keeps plain text', machine('basic_text'), /plain text.*GNOME Keyring/],
    ['is not known yet', machine('unknown'), /cannot be told/],
    ['is locked', { ...machine(), isAsyncEncryptionAvailable: async () => false }, /unlock it/],
    ['fails', { ...machine(), isAsyncEncryptionAvailable: () => Promise.reject(new Error('no bus')) }, /unlock it/],
    // The Electron of the smoke tests.
    ['has no asynchronous calls', { getSelectedStorageBackend: () => 'kwallet' }, /no asynchronous calls/],
  ])('[S9] [C6] is refused where it %s, and nothing is sealed', async (_what, storage, reason) => {
    const sealer = keychainSealer(storage, 'linux')
    expect(await sealer.problem()).toMatch(reason)
    await expect(sealer.seal(plain)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(reason),
    })
  })

  it('has no such stand-in on other systems', async () => {
    expect(await keychainSealer(machine('basic_text'), 'darwin').problem()).toBeNull()
  })
})
