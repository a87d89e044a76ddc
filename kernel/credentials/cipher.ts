import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'

export const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

const base64 = z.base64()
export const sealedSchema = z.strictObject({ nonce: base64, tag: base64, data: base64 })
export type Sealed = z.infer<typeof sealedSchema>

/** AES-256-GCM under a fresh random nonce; `about` is authenticated along with it. */
export function encrypt(key: Buffer, plain: Buffer, about: string): Sealed {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
  const data = Buffer.concat([cipher.update(plain), cipher.final()])
  const [nonceText, tag, dataText] = [nonce, cipher.getAuthTag(), data].map((bytes) => bytes.toString('base64'))
  return { nonce: nonceText as string, tag: tag as string, data: dataText as string }
}

/** null: another key, or something of it was changed. */
export function decrypt(key: Buffer, sealed: Sealed, about: string): Buffer | null {
  const [nonce, tag, data] = [sealed.nonce, sealed.tag, sealed.data].map((text) => Buffer.from(text, 'base64'))
  // A short tag would be easier to forge; Node takes it unless told.
  if (nonce?.length !== nonceBytes || tag?.length !== tagBytes || data === undefined) return null
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(about)).setAuthTag(tag)
  const plain = decipher.update(data)
  try {
    return Buffer.concat([plain, decipher.final()])
  } catch {
    return null
  } finally {
    plain.fill(0)
  }
}
