// A vault that seals `new` over `old` and may be killed on the way (EXODESK_FAILPOINT). Arguments: file, passphrase, key, base URL.
import { systemClock } from '../clock.ts'
import { createMasks } from '../credentials/masks.ts'
import { passphraseSealer } from '../credentials/passphrase.ts'
import { createVault } from '../credentials/vault.ts'

const [file = '', passphrase = '', key = '', baseUrl = ''] = process.argv.slice(2)
const sealers = [passphraseSealer({ N: 1024, r: 8, p: 1 })]
const vault = createVault({ file, sealers, masks: createMasks(), clock: systemClock })
await vault.unlock(passphrase)
const row = await vault.put('main', key, baseUrl)
process.stdout.write(`${row.version}\n`)
