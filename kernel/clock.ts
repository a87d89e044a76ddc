/** Time as the kernel sees it. Order never depends on `now`: it annotates; deadlines use `monotonic`. */
export interface Clock {
  /** Wall clock, epoch ms. May step backwards. */
  now(): number
  /** Milliseconds from an arbitrary start; never steps back. */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}
