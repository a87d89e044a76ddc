import { randomBytes, scrypt } from 'node:crypto'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import { decrypt, encrypt, keyBytes, sealedSchema } from './cipher.ts'
import type { Sealer } from './credentials.ts'

/** A passphrase is guessed offline by whoever has the file: short ones are refused. */
const leastLength = 8

/** scrypt's cost; 128·N·r bytes of memory. The default is what OWASP's password storage sheet asks for: 128 MiB, about half a second. */
export interface ScryptCost {
  N: number
  r: number
  p: number
}
const defaultCost: ScryptCost = { N: 2 ** 17, r: 8, p: 1 }

const boxSchema = z.strictObject({
  kdf: z.literal('scrypt'),
  // Bounds, so that a damaged file can take neither all memory nor all time.
  N: z
    .int()
    .min(2)
    .max(2 ** 20),
  r: z.int().min(1).max(16),
  p: z.int().min(1).max(16),
  salt: z.base64().min(22).max(100),
  sealed: sealedSchema,
})

/** Seals under a key that scrypt makes of a passphrase. Each passphrase serves once and is then forgotten. */
export function passphraseSealer(cost: ScryptCost = defaultCost): Sealer {
  let given: string | null = null
  /** Why the last passphrase did not do. */
  let refusal: string | null = null

  async function keyOf(salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
    if (given === null) throw new KernelError('unavailable', refusal ?? noPassphrase)
    const passphrase = given
    given = null
    return new Promise((resolve, reject) =>
      scrypt(passphrase, salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
        error === null
          ? resolve(key)
          : reject(new KernelError('unavailable', `scrypt cannot run here: ${error.message}`)),
      ),
    )
  }

  return {
    name: 'passphrase',
    problem: async () => (given === null ? (refusal ?? noPassphrase) : null),
    give(passphrase) {
      const text = passphrase.normalize('NFC')
      if (text.length < leastLength)
        throw new KernelError('invalid', `A passphrase has at least ${leastLength} characters.`)
      given = text
      refusal = null
    },
    async seal(plain) {
      const salt = randomBytes(32)
      const key = await keyOf(salt, cost)
      const sealed = encrypt(key, plain, aboutOf(cost))
      key.fill(0)
      return Buffer.from(JSON.stringify({ kdf: 'scrypt', ...cost, salt: salt.toString('base64'), sealed }))
    },
    async open(bytes) {
      const box = boxSchema.safeParse(parse(bytes))
      if (!box.success) throw new KernelError('unavailable', 'What the passphrase sealed is damaged.')
      const { salt, sealed, N, r, p } = box.data
      const key = await keyOf(Buffer.from(salt, 'base64'), { N, r, p })
      const plain = decrypt(key, sealed, aboutOf({ N, r, p }))
      key.fill(0)
      if (plain !== null) return plain
      refusal = wrongPassphrase
      throw new KernelError('forbidden', wrongPassphrase)
    },
  }
}

const noPassphrase =
  'The keys are locked: give their passphrase (exodesk key unlock, or the desk: New task…, another model, Keys…).'
const wrongPassphrase =
  'That passphrase does not open these keys (wrong passphrase, or the file was changed). They stay as they are: try again.'

const aboutOf = ({ N, r, p }: ScryptCost) => `exodesk passphrase 1\n${N}\n${r}\n${p}`

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}
