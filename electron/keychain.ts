import type { SafeStorage } from 'electron'
import { KernelError, type Sealer } from '../kernel/kernel.ts'

/** What is used of Electron's safeStorage. The calls that block are gone in later versions. */
export type Keychain = Pick<
  SafeStorage,
  'isAsyncEncryptionAvailable' | 'encryptStringAsync' | 'decryptStringAsync' | 'getSelectedStorageBackend'
>

/** Seals with the operating system's keychain; asked only once the app is ready. Plain text under another name is no keychain. */
export function keychainSealer(storage: Partial<Keychain>, platform: NodeJS.Platform = process.platform): Sealer {
  async function problem(): Promise<string | null> {
    if (storage.isAsyncEncryptionAvailable === undefined)
      return 'The keychain is not available: this Electron has no asynchronous calls for it.'
    if (!(await storage.isAsyncEncryptionAvailable().catch(() => false)))
      return 'The keychain is not available: unlock it, or allow Exodesk to use it.'
    const backend = platform === 'linux' ? storage.getSelectedStorageBackend?.() : undefined
    if (backend === 'basic_text')
      return 'No keychain was found, and its stand-in would keep keys in plain text: start GNOME Keyring or KWallet, then Exodesk again.'
    if (backend === 'unknown') return 'Which keychain this is cannot be told: start Exodesk again.'
    return null
  }

  async function requireIt(): Promise<Required<Keychain>> {
    const reason = await problem()
    if (reason !== null) throw new KernelError('unavailable', reason)
    return storage as Required<Keychain>
  }

  return {
    name: 'keychain',
    problem,
    async seal(plain) {
      const keychain = await requireIt()
      try {
        return await keychain.encryptStringAsync(plain.toString('base64'))
      } catch (error) {
        throw new KernelError('unavailable', `The keychain did not seal the keys: ${(error as Error).message}`)
      }
    },
    async open(sealed) {
      const keychain = await requireIt()
      try {
        return Buffer.from((await keychain.decryptStringAsync(sealed)).result, 'base64')
      } catch (error) {
        throw new KernelError(
          'forbidden',
          `This keychain does not open the keys: another machine's or another user's sealed them. They stay as they are; to begin anew, move credentials.json away and add the keys again (${(error as Error).message})`,
        )
      }
    },
  }
}
