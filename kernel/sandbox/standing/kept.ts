/**
 * The beginning of an output, up to a cap. One piece of memory that grows by doubling and is given
 * away as it is: two outputs of 8 MiB take 16 MiB, and no copy.
 */
export class KeptStart {
  #kept = Buffer.alloc(0)
  #length = 0
  readonly #cap: number

  constructor(cap: number) {
    this.#cap = cap
  }

  add(chunk: Buffer): void {
    const part = chunk.subarray(0, this.#cap - this.#length)
    if (part.length === 0) return
    const needed = this.#length + part.length
    if (needed > this.#kept.length) {
      // Straight to the cap once it is a long one: what is not written is not resident either.
      const size = needed > 1024 * 1024 ? this.#cap : Math.min(this.#cap, Math.max(16 * 1024, needed * 2))
      const grown = Buffer.allocUnsafeSlow(size)
      this.#kept.copy(grown, 0, 0, this.#length)
      this.#kept = grown
    }
    part.copy(this.#kept, this.#length)
    this.#length = needed
  }

  take(): Buffer {
    return this.#kept.subarray(0, this.#length)
  }
}
