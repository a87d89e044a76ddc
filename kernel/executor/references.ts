import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import { type Item, itemOf } from './items.ts'

const keptChars = 16 * 1024 * 1024
/** A kernel that has just started looks this many model calls back for items that may be referred to. */
const callsLookedBack = 50

/**
 * The items of one task's requests and answers, by the SHA-256 of their JSON: an executor sends a reference for what the
 * kernel already has. What is of another task, or no item at all, cannot be referred to.
 */
export class References {
  readonly #history: Pick<History, 'read' | 'getRequest' | 'getBlob'>
  readonly #agent: string
  readonly #task: string
  readonly #known = new Set<string>()
  readonly #texts = new Map<string, string>()
  #chars = 0
  #lookBack: Promise<void> | undefined

  /** @param history may be a view as of an earlier event: then what came later cannot be referred to. */
  constructor(history: Pick<History, 'read' | 'getRequest' | 'getBlob'>, agent: string, task: string) {
    this.#history = history
    this.#agent = agent
    this.#task = task
  }

  add(hash: string, json: string): void {
    this.#known.add(hash)
    if (this.#texts.has(hash)) return
    this.#texts.set(hash, json)
    this.#chars += json.length
    for (const [oldest, text] of this.#texts) {
      if (this.#chars <= keptChars) break
      this.#texts.delete(oldest)
      this.#chars -= text.length
    }
  }

  /** Each element as it is, or what its `{ ref }` stands for. @throws KernelError `invalid`. */
  async resolve(elements: readonly unknown[]): Promise<Item[]> {
    const items: Item[] = []
    for (const [index, element] of elements.entries()) {
      const hash = referenceOf(element)
      if (hash === null) items.push(itemOf(element))
      else items.push(await this.#item(hash, index))
    }
    return items
  }

  async #item(hash: string, index: number): Promise<Item> {
    if (!this.#known.has(hash)) {
      this.#lookBack ??= this.#readBack()
      await this.#lookBack
    }
    if (!this.#known.has(hash)) {
      const text = `item ${index} refers to ${hash.slice(0, 64)}, which is no item of an earlier request or answer of this task; send the item itself`
      throw new KernelError('invalid', text)
    }
    const json = this.#texts.get(hash) ?? (await this.#history.getBlob(hash)).toString('utf8')
    this.add(hash, json)
    return { value: JSON.parse(json), json }
  }

  async #readBack(): Promise<void> {
    const { events } = await this.#history.read(
      { agent: this.#agent },
      { task: this.#task, kinds: ['model.called'], order: 'desc', limit: callsLookedBack },
    )
    for (const event of events) {
      if (event.kind !== 'model.called') continue
      for (const { hash } of event.data.output) this.#known.add(hash)
      const { items } = await this.#history.getRequest(event.data.request)
      for (const { kind, hash } of items) if (kind !== 'tools') this.#known.add(hash)
    }
  }
}

function referenceOf(element: unknown): string | null {
  if (typeof element !== 'object' || element === null || !Object.hasOwn(element, 'ref')) return null
  const { ref } = element as { ref: unknown }
  if (Object.keys(element).length === 1 && typeof ref === 'string' && /^[0-9a-f]{64}$/.test(ref)) return ref
  throw new KernelError('invalid', 'an item by reference has exactly { ref }, a SHA-256 in lower-case hex')
}
