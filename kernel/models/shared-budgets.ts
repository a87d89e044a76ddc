import { uptime } from 'node:os'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Notices } from '../notices.ts'
import { draft, type Event } from '../wire/events.ts'
import { hasRoom } from './budgets.ts'
import type { Account, SharedBudgets, SharedLimits } from './models.ts'

interface SharedParts {
  history: History
  clock: Clock
  notices: Notices
  /** Milliseconds since the machine was started, its sleep included. */
  uptimeMs?: () => number
}

const dayMs = 24 * 3_600_000
/** How often those who wait look again, at least: what others settle makes room too. */
const lookMs = 1_000

export async function openSharedBudgets(parts: SharedParts): Promise<SharedBudgets> {
  const { history, notices } = parts
  const today = createToday(parts)
  const limits = await readLimits(history)
  /** By the root of the lineage; '' is the day. */
  const accounts = new Map<string, Promise<Account>>()
  const roots = new Map<string, string>()
  const waiting = new Set<() => void>()

  function account(root: string): Promise<Account> {
    const known = accounts.get(root)
    if (known !== undefined) return known
    const opened = open(root)
    accounts.set(root, opened)
    opened.catch(() => accounts.delete(root))
    return opened
  }

  async function open(root: string): Promise<Account> {
    const spent = await history.spent(root === '' ? today.window() : { lineage: root })
    const { nanoUsd = null, tokens = null } = limits.get(root) ?? {}
    return {
      scope: root === '' ? 'day' : 'agent',
      of: root === '' ? 'the day' : `agent ${root} and its forks`,
      limitNanoUsd: nanoUsd,
      limitTokens: tokens,
      spentNanoUsd: spent.nanoUsd,
      spentTokens: spent.tokens,
      reservedNanoUsd: 0,
      reservedTokens: 0,
    }
  }

  /** The day's account; a new day begins it anew. What is in flight then is spent on the day on which it ends. */
  async function day(): Promise<Account> {
    const found = await account('')
    if (today.isOver()) {
      today.next()
      Object.assign(found, { spentNanoUsd: 0, spentTokens: 0 })
      notices.clear('budget.day')
    }
    return found
  }

  function tell(): void {
    for (const look of waiting) look()
  }

  /** An agent that works has its place in a lineage for good. */
  async function rootOf(agent: string): Promise<string> {
    const root = roots.get(agent) ?? (await history.lineageRoot(agent))
    roots.set(agent, root)
    return root
  }

  async function accountsOf(agent: string): Promise<Account[]> {
    // The kernel's own calls may be of no agent.
    if (agent === '') return [await day()]
    const root = await rootOf(agent)
    return [await account(root), await day()]
  }

  return {
    accountsOf,
    async list() {
      const limited = [...limits.keys()].filter((root) => root !== '').sort()
      const all = await Promise.all([day(), ...limited.map(account)])
      return all.map((found, index) => ({
        scope: found.scope === 'day' ? 'day' : 'agent',
        agent: index === 0 ? null : (limited[index - 1] ?? null),
        limitNanoUsd: found.limitNanoUsd,
        limitTokens: found.limitTokens,
        spentNanoUsd: found.spentNanoUsd,
        spentTokens: found.spentTokens,
      }))
    },
    async set(agent, given) {
      if (given.nanoUsd === undefined && given.tokens === undefined)
        throw new KernelError('invalid', 'say which limit is set: USD, tokens, or both')
      if (agent !== null && (await history.read({ agent }, { limit: 1 })).events.length === 0)
        throw new KernelError('not-found', `there is no agent ${agent}: "exodesk tasks" names those there are`)
      const root = agent === null ? '' : await history.lineageRoot(agent)
      const found = await account(root)
      const { nanoUsd = found.limitNanoUsd, tokens = found.limitTokens } = given
      const scope = agent === null ? 'day' : 'agent'
      const data = { scope, agent: agent === null ? null : root, nanoUsd, tokens } as const
      const [event] = await history.append([draft('budget.set', data, { actor: 'operator' })])
      limits.set(root, { nanoUsd, tokens })
      Object.assign(found, { limitNanoUsd: nanoUsd, limitTokens: tokens })
      tell()
      return event?.seq ?? 0
    },
    async whenRoom(agent, needed, signal) {
      for (;;) {
        const full = (await accountsOf(agent)).find((found) => !hasRoom(found, needed))
        if (full === undefined || signal.aborted) return
        const id = full.scope === 'day' ? 'budget.day' : `budget.agent.${full.of}`
        notices.raise({ id, severity: 'warning', text: fullText(full), fix: fixOf(full), task: null })
        await new Promise<void>((resolve) => {
          const look = () => {
            clearTimeout(timer)
            waiting.delete(look)
            signal.removeEventListener('abort', look)
            resolve()
          }
          const timer = setTimeout(look, lookMs)
          timer.unref()
          waiting.add(look)
          signal.addEventListener('abort', look)
        })
        const isFull = (await accountsOf(agent)).some((found) => found === full && !hasRoom(found, needed))
        if (!isFull || signal.aborted) notices.clear(id)
      }
    },
  }
}

/**
 * The day that budgets go by: from local midnight to local midnight, by the wall clock as it was at the start and what the
 * machine's own time has added since. A wall clock that is set neither begins a day anew nor keeps one from ending.
 */
function createToday({ clock, uptimeMs = () => uptime() * 1000 }: SharedParts) {
  const [wallAtStart, uptimeAtStart] = [clock.now(), uptimeMs()]
  const now = () => wallAtStart + (uptimeMs() - uptimeAtStart)
  const midnight = (at: number, hours: 0 | 24) => new Date(at).setHours(hours, 0, 0, 0)
  const from = midnight(wallAtStart, 0)
  let end = midnight(wallAtStart, 24)
  return {
    isOver: () => now() >= end,
    next: () => {
      end = midnight(now(), 24)
    },
    /** What counts as spent today at the start: also a little of what the clock says is yet to come, where it was set back. */
    window: () => ({ fromMs: from, toMs: from + 2 * dayMs }),
  }
}

async function readLimits(history: History): Promise<Map<string, SharedLimits>> {
  const limits = new Map<string, SharedLimits>()
  let after: number | null = 0
  while (after !== null) {
    const page = await history.read({ agent: null }, { kinds: ['budget.set'], after, limit: 1000 })
    for (const { data } of page.events as Event<'budget.set'>[])
      limits.set(data.agent ?? '', { nanoUsd: data.nanoUsd, tokens: data.tokens })
    after = page.next
  }
  return limits
}

function fullText({ of, limitNanoUsd, limitTokens, spentNanoUsd, spentTokens }: Account): string {
  const limits = [
    limitNanoUsd !== null && `${usd(spentNanoUsd)} of ${usd(limitNanoUsd)}`,
    limitTokens !== null && `${spentTokens} of ${limitTokens} tokens`,
  ].filter((part) => part !== false)
  return `The budget of ${of} is used up (${limits.join(', ')}): tasks that need it wait.`
}

function fixOf({ scope, of }: Account): string {
  if (scope === 'day') return 'They go on at midnight, or when it is raised: exodesk budget --day USD'
  return `They go on when it is raised: exodesk budget --agent ${of.split(' ')[1] ?? 'A'} --usd USD`
}

function usd(nanoUsd: number): string {
  return `${(nanoUsd / 1e9).toFixed(4)} USD`
}
