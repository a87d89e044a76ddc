import type { ModelCallResult, UsageReport } from '#wire'
import type { Kernel } from './kernel.ts'

/** Shares of a limit at which the model is told what is left. */
const NOTICES = [0.2, 0.05]

/** What is left of the task's limits, from the kernel at a turn's start and then kept up. The kernel enforces; this only foresees. */
export class Budget {
  readonly #kernel: Kernel
  #left: UsageReport['budgetLeft'] = { nanoUsd: null, tokens: null, steps: null }

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  async open(): Promise<void> {
    const { budgetNanoUsd, budgetTokens, maxSteps } = this.#kernel.task.limits
    if (budgetNanoUsd === null && budgetTokens === null && maxSteps === null) return
    this.#left = { ...(await this.#kernel.call('report.usage', { scope: 'task' })).budgetLeft }
  }

  spend({ usage, costNanoUsd }: Pick<ModelCallResult, 'usage' | 'costNanoUsd'>): void {
    const left = this.#left
    if (left.nanoUsd !== null) left.nanoUsd -= costNanoUsd ?? 0
    if (left.tokens !== null) left.tokens -= usage.uncached + usage.cacheRead + usage.cacheWrite + usage.output
    if (left.steps !== null) left.steps -= 1
  }

  /** What to tell the model after `told` earlier notices; null: nothing new. */
  notice(told: number): string | null {
    const share = NOTICES[told]
    if (share === undefined) return null
    const { limits } = this.#kernel.task
    const { nanoUsd, tokens, steps } = this.#left
    const low: string[] = []
    if (nanoUsd !== null && nanoUsd < share * (limits.budgetNanoUsd ?? 0)) low.push(`$${(nanoUsd / 1e9).toFixed(3)}`)
    if (tokens !== null && tokens < share * (limits.budgetTokens ?? 0)) low.push(`${tokens} tokens`)
    if (steps !== null && steps < share * (limits.maxSteps ?? 0)) low.push(`${steps} steps`)
    return low.length === 0 ? null : `Budget left: ${low.join(', ')}. Finish what matters most.`
  }
}
