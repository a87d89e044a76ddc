import type { History } from '../kernel/history/history.ts'
import type { EventDraft } from '../kernel/wire/events.ts'

// A log as agents write it: steps of a model call, a tool call, its result and a note, in runs of a few hundred steps.

const words = 'build check error path value test file index queue parse write state open retry limit frame token'.split(
  ' ',
)
export const commonWord = 'error'
/** In one event of a hundred thousand. */
export const rareWord = 'zugzwang'
const stepsPerTask = 2_000
const revision = '5'.repeat(64)

/** The n-th event (from 0). The same number gives the same event. */
export function draftOf(n: number): EventDraft {
  const step = Math.floor(n / 4)
  const task = `T-${Math.floor(step / stepsPerTask) + 1}`
  const place = {
    agent: `agent-${step % 3}`,
    task,
    run: 'task',
    turn: Math.floor(step / 50) % 40,
    step,
    revision,
  } as const
  const said = (length: number) => textOf(n, length)
  switch (n % 4) {
    case 0:
      return {
        kind: 'model.called',
        actor: 'kernel',
        ...place,
        data: {
          request: 0,
          parent: null,
          keptItems: 0,
          items: 0,
          api: 'responses',
          model: 'sim-apprentice',
          simulated: true,
          status: 'completed',
          attempts: 1,
          usage: { uncached: 120 + (n % 50), cacheRead: 4_000, cacheWrite: 0, output: 80, reasoning: 10 },
          usageSource: 'reported',
          costNanoUsd: 1_000 + (n % 97),
          costReason: null,
          priceVersion: 'bench',
          durationMs: 812,
          firstByteMs: 120,
          output: [],
          firstDifference: null,
          composition: { instructions: 900, tools: 700, messages: 1_900, toolResults: 600 },
          error: null,
        },
      }
    case 1:
      return {
        kind: 'tool.called',
        actor: 'kernel',
        ...place,
        data: {
          call: `c${n}`,
          name: step % 5 === 0 ? 'edit' : 'shell',
          arguments: JSON.stringify({ command: said(120) }),
          request: 0,
        },
      }
    case 2: {
      const output = said(420)
      return {
        kind: 'tool.finished',
        actor: 'kernel',
        ...place,
        data: {
          call: `c${n - 1}`,
          name: step % 5 === 0 ? 'edit' : 'shell',
          outcome: 'ok',
          output,
          outputBytes: output.length,
          durationMs: 31,
        },
      }
    }
    default: {
      const rare = n % 100_000 === 99_999 ? ` ${rareWord}` : ''
      return { kind: 'note.added', actor: 'executor', ...place, data: { text: `${said(160)}${rare}` } }
    }
  }
}

function textOf(seed: number, length: number): string {
  let state = (seed * 2_654_435_761) >>> 0
  let text = ''
  while (text.length < length) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    text += `${words[(state >>> 8) % words.length]}${(state >>> 20) % 7 === 0 ? `-${state % 9_999}` : ''} `
  }
  return text
}

/** Adds events up to `size` of them, a few commits in flight; returns events per second. */
export async function fill(history: History, size: number): Promise<number> {
  const from = history.head()?.seq ?? 0
  const start = performance.now()
  const inFlight = new Set<Promise<unknown>>()
  for (let n = from; n < size; n += 500) {
    const drafts = Array.from({ length: Math.min(500, size - n) }, (_, k) => draftOf(n + k))
    const added: Promise<unknown> = history.append(drafts).then(() => inFlight.delete(added))
    inFlight.add(added)
    if (inFlight.size >= 4) await Promise.race(inFlight)
  }
  await Promise.all(inFlight)
  return ((size - from) / (performance.now() - start)) * 1000
}
