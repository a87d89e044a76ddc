import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'

/**
 * A bundle is lossless, so nothing can be taken out of it. Keys are masked before they are stored; one that was stored
 * before the kernel knew it is found here, in events and in every content, requests included.
 * @throws KernelError `conflict` saying where the first ones lie.
 */
export async function requireNoKey(history: History, upTo: number, keys: (text: string) => string): Promise<void> {
  const found: string[] = []
  for (let after: number | null = 0; after !== null && found.length < 5; ) {
    const page: Awaited<ReturnType<History['read']>> = await history.read(
      { agent: null, asOf: upTo },
      { after, limit: 500 },
    )
    for (const { seq, kind, data } of page.events) {
      const text = JSON.stringify(data)
      if (keys(text) !== text) found.push(`event ${seq} (${kind})`)
    }
    after = page.next
  }
  for (let after: number | null = 0; after !== null && found.length < 5; ) {
    const page: { hashes: string[]; next: number | null } = await history.blobHashes(after)
    for (const hash of page.hashes) {
      // One character for each byte: whatever it holds is looked through.
      const text = (await contentOf(history, hash)).toString('latin1')
      if (keys(text) !== text) found.push(`content ${hash.slice(0, 12)}`)
    }
    after = page.next
  }
  if (found.length === 0) return
  throw new KernelError(
    'conflict',
    `a key that Exodesk knows lies in ${found.slice(0, 5).join(', ')}: it was stored before it was known, and a bundle leaves nothing out. Have its provider replace it, remove it with "exodesk key remove", start again, and export then; or export as Markdown`,
  )
}

/** What lies in an archive that is away is not in the bundle either. */
async function contentOf(history: History, hash: string): Promise<Buffer> {
  try {
    return await history.getBlob(hash)
  } catch (error) {
    if (error instanceof KernelError && error.code === 'unavailable') return Buffer.alloc(0)
    throw error
  }
}
