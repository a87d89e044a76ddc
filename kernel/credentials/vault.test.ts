import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { Sealer, Vault } from './credentials.ts'
import { createMasks } from './masks.ts'
import { passphraseSealer } from './passphrase.ts'
import { createVault } from './vault.ts'

const key = 'sk-canary-4f1d0c9b8a7e6d5c'
const home = 'https://api.example.test/v1'
const cost = { N: 1024, r: 8, p: 1 }

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-vault-'))
  file = join(dir, 'credentials.json')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function openVault(sealers: Sealer[] = [passphraseSealer(cost)], masks = createMasks()): Vault {
  return createVault({ file, sealers, masks, clock: systemClock })
}

async function filled(): Promise<Vault> {
  const vault = openVault()
  await vault.unlock('open sesame')
  await vault.put('main', key, home)
  return vault
}

/** A keychain in memory, as one machine and user have it. */
function keychain(secret: string, problem: string | null = null): Sealer {
  const turn = (bytes: Buffer) =>
    Buffer.from(bytes.map((byte, i) => byte ^ (secret.charCodeAt(i % secret.length) & 255)))
  return {
    name: 'keychain',
    problem: async () => problem,
    seal: async (plain) => Buffer.concat([Buffer.from(secret), turn(plain)]),
    async open(sealed) {
      if (sealed.subarray(0, secret.length).toString() !== secret)
        throw new KernelError('forbidden', 'sealed by another keychain')
      return turn(sealed.subarray(secret.length))
    },
  }
}

describe('the vault', () => {
  it('gives a key back after a restart, once its passphrase is given', async () => {
    await filled()
    const vault = openVault()
    expect(await vault.status()).toMatchObject({ state: 'locked', sealer: 'passphrase', wantsPassphrase: true })
    await expect(vault.take('main', home)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('exodesk key unlock'),
    })
    await vault.unlock('open sesame')
    expect(await vault.status()).toMatchObject({ state: 'open', problem: null })
    expect(await vault.take('main', home)).toBe(key)
  })

  it('refuses a wrong passphrase while it is open as well, and stays open', async () => {
    const vault = await filled()
    await expect(vault.unlock('open barley')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(vault.unlock('short')).rejects.toMatchObject({ code: 'invalid' })
    expect(await vault.status()).toMatchObject({ state: 'open', problem: null })
    await vault.unlock('open sesame')
    expect(await vault.take('main', home)).toBe(key)
  })

  it('lists names, versions and origins, locked or not, and never a key', async () => {
    const vault = await filled()
    await vault.put('main', `${key}-2`, 'https://other.example.test:8443/x')
    const [row] = await openVault().list()
    expect(row).toMatchObject({
      name: 'main',
      version: 2,
      origin: 'https://other.example.test:8443',
      sealer: 'passphrase',
    })
    expect(Object.keys(row ?? {}).sort()).toEqual(['name', 'origin', 'sealedAt', 'sealer', 'version'])
  })

  it('[C6] [S12] holds no key in plain in its file, in an inspection, or in a serialisation; the file is its user’s alone', async () => {
    const vault = await filled()
    await vault.take('main', home)
    const bytes = readFileSync(file)
    // The other half of the claim: a file with the key would show.
    expect(Buffer.from(`x${key}`).includes(key)).toBe(true)
    expect(bytes.includes(key) || bytes.includes(Buffer.from(key).toString('base64').slice(0, 20))).toBe(false)
    expect(inspect(vault, { depth: 20, showHidden: true, getters: true })).not.toContain('canary')
    expect(JSON.stringify(vault)).toBe('{}')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(['credentials.json'])
  })

  it('[C6] seals the same key differently each time', async () => {
    const vault = await filled()
    const first = JSON.parse(readFileSync(file, 'utf8')).credentials[0].key
    await vault.put('main', key, home)
    const second = JSON.parse(readFileSync(file, 'utf8')).credentials[0].key
    expect(second.nonce).not.toBe(first.nonce)
    expect(second.data).not.toBe(first.data)
  })

  it('[S2] gives a key to its origin alone', async () => {
    const vault = await filled()
    expect(await vault.take('main', 'https://api.example.test/other/path')).toBe(key)
    for (const other of ['https://api.example.test:444/v1', 'https://api.example.test.evil.test/v1', 'https://x.test'])
      await expect(vault.take('main', other)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(vault.take('main', 'http://api.example.test/v1')).rejects.toMatchObject({ code: 'forbidden' })
  })

  it.each([
    ['name', (row: Row) => ({ ...row, name: 'other' }), 'other', home],
    ['version', (row: Row) => ({ ...row, version: 2 }), 'main', home],
    ['origin', (row: Row) => ({ ...row, origin: 'https://evil.test' }), 'main', 'https://evil.test'],
    ['bytes', (row: Row) => ({ ...row, key: { ...row.key, data: flipped(row.key.data) } }), 'main', home],
    ['tag', (row: Row) => ({ ...row, key: { ...row.key, tag: row.key.tag.slice(0, 8) } }), 'main', home],
  ] as const)('[C6] does not open a key whose %s was changed on disk', async (_what, change, name, origin) => {
    const vault = await filled()
    const content = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...content, credentials: content.credentials.map(change) }))
    await expect(vault.take(name, origin)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('changed on disk'),
    })
  })

  it('[S9] is never written over by a wrong passphrase, another keychain, a missing one, or damage', async () => {
    await filled()
    const before = readFileSync(file)
    const wrong = openVault()
    await expect(wrong.unlock('another one')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(wrong.put('more', key, home)).rejects.toThrow(/wrong passphrase/)
    const elsewhere = openVault([keychain('laptop')])
    await expect(elsewhere.put('more', key, home)).rejects.toThrow(/sealed by a passphrase/)
    const nothing = openVault([])
    await expect(nothing.put('more', key, home)).rejects.toMatchObject({ code: 'unavailable' })
    expect(readFileSync(file)).toEqual(before)

    writeFileSync(file, before.subarray(0, 100))
    const torn = openVault()
    expect((await torn.status()).problem).toContain('damaged')
    await expect(torn.unlock('open sesame')).rejects.toThrow(/damaged/)
    await expect(torn.put('more', key, home)).rejects.toThrow(/damaged/)
    expect(readFileSync(file)).toEqual(before.subarray(0, 100))
    writeFileSync(file, '{"format":2}')
    await expect(openVault().put('more', key, home)).rejects.toThrow(/newer Exodesk/)
  })

  it('[S9] of another machine’s keychain says so, and stays', async () => {
    await openVault([keychain('desk')]).put('main', key, home)
    const before = readFileSync(file)
    const vault = openVault([keychain('laptop')])
    await expect(vault.take('main', home)).rejects.toThrow(/another keychain/)
    await expect(vault.put('main', key, home)).rejects.toThrow(/another keychain/)
    expect(readFileSync(file)).toEqual(before)
    expect(await openVault([keychain('desk')]).take('main', home)).toBe(key)
  })

  it('[S9] asks for a passphrase where there is no keychain, and says why', async () => {
    const vault = openVault([keychain('x', 'The keychain is plain text here.'), passphraseSealer(cost)])
    expect(await vault.status()).toMatchObject({
      state: 'empty',
      sealer: 'passphrase',
      wantsPassphrase: true,
      problem: expect.stringContaining('plain text here'),
    })
    await expect(vault.put('main', key, home)).rejects.toThrow(/plain text here/)
    await vault.unlock('open sesame')
    await vault.put('main', key, home)
    expect(JSON.parse(readFileSync(file, 'utf8')).sealer).toBe('passphrase')
  })

  it('prefers the keychain where there is one, and then wants no passphrase', async () => {
    const vault = openVault([keychain('desk'), passphraseSealer(cost)])
    await vault.put('main', key, home)
    expect(await vault.status()).toMatchObject({ state: 'open', sealer: 'keychain' })
    await expect(vault.unlock('open sesame')).rejects.toThrow(/No passphrase is needed/)
  })

  it.each([
    ['a name with a slash', 'a/b', key, home, /is named by/],
    ['a short key', 'main', 'sk', home, /shorter than 8/],
    ['a key with a line end', 'main', `${key}\nx`, home, /one line/],
    ['no URL', 'main', key, 'api.example.test', /not a base URL/],
    ['a key in place of the URL', 'main', key, key, /not a base URL/],
    ['a URL with a password', 'main', key, 'https://me:pw@example.test', /leave them out/],
    ['plain http', 'main', key, 'http://example.test', /plain http/],
  ])('refuses %s with a text that does not repeat the key', async (_what, name, given, origin, message) => {
    const vault = openVault()
    await vault.unlock('open sesame')
    const error = await vault.put(name, given, origin).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ message: expect.stringMatching(message) })
    expect(inspect(error)).not.toContain('canary')
    expect(readdirSync(dir)).toEqual([])
  })

  it('removes a key without its passphrase, and says where there is none', async () => {
    await filled()
    const vault = openVault()
    await vault.remove('main')
    expect(await vault.list()).toEqual([])
    await expect(vault.remove('main')).rejects.toMatchObject({ code: 'not-found' })
    await vault.unlock('open sesame')
    await expect(vault.take('main', home)).rejects.toThrow(/exodesk key add main/)
  })

  it('[S8] knows all of its keys for masking once it is open, also those that nothing has used', async () => {
    await filled()
    const masks = createMasks()
    const vault = openVault([passphraseSealer(cost)], masks)
    await vault.unlock('open sesame')
    expect(masks.redact(`a ${key} b`)).toBe('a [redacted key] b')
  })

  it('keeps every key that several callers put at once', async () => {
    const vault = openVault()
    await vault.unlock('open sesame')
    const names = Array.from({ length: 20 }, (_, i) => `key-${i}`)
    await Promise.all(names.map((name) => vault.put(name, `${key}-${name}`, home)))
    expect((await vault.list()).map(({ name }) => name).sort()).toEqual([...names].sort())
    expect(await vault.take('key-13', home)).toBe(`${key}-key-13`)
  })

  it('forgets what it holds open when it is closed', async () => {
    const vault = await filled()
    vault.close()
    await expect(vault.take('main', home)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

interface Row {
  name: string
  version: number
  key: { data: string; tag: string }
}

function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  bytes[0] = (bytes[0] ?? 0) ^ 1
  return bytes.toString('base64')
}
