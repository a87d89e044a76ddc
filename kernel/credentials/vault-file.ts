import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { sealedSchema } from './cipher.ts'

const rowSchema = z.strictObject({
  name: z.string(),
  version: z.int().positive(),
  origin: z.string(),
  sealedAt: z.number(),
  key: sealedSchema,
})
const fileSchema = z.strictObject({
  format: z.literal(1),
  sealer: z.enum(['keychain', 'passphrase']),
  /** The vault's own key, as its sealer sealed it. */
  sealed: z.base64(),
  credentials: z.array(rowSchema),
})
export type VaultFile = z.infer<typeof fileSchema>

/** null: there is none. @throws KernelError `unavailable`: it is there and cannot be read; says what to do. */
export function readVaultFile(file: string): VaultFile | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new KernelError('unavailable', `${file} cannot be read: ${message}`)
  }
  const format = formatOf(text)
  if (typeof format === 'number' && format > 1)
    throw new KernelError('unavailable', `${file} was written by a newer Exodesk: use that one.`)
  const found = fileSchema.safeParse(parse(text))
  if (found.success) return found.data
  throw new KernelError(
    'unavailable',
    `${file} is damaged. It stays as it is: put a copy in its place, or move it away and add the keys again.`,
  )
}

/** On disk, whole, when it returns; after a kill or a power loss the old file is there or the new one. @throws KernelError `unavailable`. */
export function writeVaultFile(file: string, content: VaultFile): void {
  const next = `${file}.next`
  try {
    failpoint('vault:before-write')
    const fd = openSync(next, 'w', 0o600)
    try {
      writeSync(fd, `${JSON.stringify(content, null, 1)}\n`)
      failpoint('vault:before-sync')
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    failpoint('vault:before-rename')
    renameSync(next, file)
    failpoint('vault:after-rename')
    syncFolder(dirname(file))
  } catch (error) {
    throw new KernelError('unavailable', `${file} cannot be written, and stays as it was: ${(error as Error).message}`)
  }
}

function syncFolder(folder: string): void {
  // Windows has no such call for folders; its rename is journalled.
  if (process.platform === 'win32') return
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function formatOf(text: string): unknown {
  const content = parse(text)
  return typeof content === 'object' && content !== null && 'format' in content ? content.format : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
