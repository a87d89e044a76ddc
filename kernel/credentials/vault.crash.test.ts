import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { createMasks } from './masks.ts'
import { passphraseSealer } from './passphrase.ts'
import { createVault } from './vault.ts'

const home = 'https://api.example.test/v1'
const passphrase = 'open sesame'
const [before, after] = ['sk-before-0123456789', 'sk-after-0123456789']
const victim = join(import.meta.dirname, '../testing/vault-victim.ts')

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-vault-'))
  file = join(dir, 'credentials.json')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function put(key: string, failpoint = '') {
  const env = { ...process.env, EXODESK_FAILPOINT: failpoint }
  return spawnSync(process.execPath, [victim, file, passphrase, key, home], { env, encoding: 'utf8' })
}

async function kept(): Promise<{ version: number | undefined; key: string }> {
  const sealers = [passphraseSealer()]
  const vault = createVault({ file, sealers, masks: createMasks(), clock: systemClock })
  await vault.unlock(passphrase)
  const [row] = await vault.list()
  return { version: row?.version, key: await vault.take('main', home) }
}

describe('[crash] a vault whose host is killed while it seals a key', () => {
  it.each([
    ['vault:before-write', 1, before],
    ['vault:before-sync', 1, before],
    ['vault:before-rename', 1, before],
    ['vault:after-rename', 2, after],
  ])('at %s holds version %i whole, and takes the key again', async (failpoint, version, key) => {
    expect(put(before).stdout).toBe('1\n')
    expect(put(after, failpoint)).toMatchObject({ signal: 'SIGKILL', stdout: '' })
    expect(await kept()).toEqual({ version, key })
    expect(put(after).stdout).toBe(`${version + 1}\n`)
    expect(await kept()).toEqual({ version: version + 1, key: after })
    expect(existsSync(`${file}.next`)).toBe(false)
  })

  it('the first time, has no vault, and a new passphrase can be chosen', () => {
    expect(put(before, 'vault:before-rename').signal).toBe('SIGKILL')
    expect(existsSync(file)).toBe(false)
    // What is left behind is sealed, and its user's alone.
    expect(statSync(`${file}.next`).mode & 0o777).toBe(0o600)
    expect(put(before).stdout).toBe('1\n')
  })
})
