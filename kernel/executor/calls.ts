import type { Clock } from '../clock.ts'
import type { History } from '../history/history.ts'
import { sha256 } from '../store/chain.ts'
import type { Quarantined } from '../tools/tools.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { KernelMethod } from '../wire/executor.ts'
import type { ToolCall, ToolOutput } from './items.ts'
import { headOf } from './text.ts'

/** Longer arguments and outputs are cut in the event and whole in a blob. */
const inlineBytes = 8 * 1024
/** Providers choose names: events name a longer one by its head. */
const nameBytes = 200
const unknownEffect = 'interrupted: effect unknown'

export type Place = Omit<EventDraft, 'kind' | 'data'>

interface OpenCall extends ToolCall {
  place: Place
  since: number
  /** First and last moment of the mediated operations that are known to be its own. */
  used: { from: number; to: number } | null
  /** What was asked of the kernel on its behalf, beyond reads. */
  operations: Set<KernelMethod>
  /** Its tool is in quarantine, and something of it was not carried out: what it is answered, whatever the executor says. */
  refusal: string | null
}

const nothing: ReadonlyMap<string, Quarantined> = new Map()

/**
 * The tool calls of one task that the model has asked for and that no request has answered yet. They outlive turns and
 * generations: a successor's first request may hold the outputs. Derived from what passes through the kernel alone.
 */
export class OpenCalls {
  readonly #history: History
  readonly #clock: Clock
  readonly #agent: string
  readonly #open = new Map<string, OpenCall>()

  constructor(history: History, clock: Clock, agent: string) {
    this.#history = history
    this.#clock = clock
    this.#agent = agent
  }

  get size(): number {
    return this.#open.size
  }

  /** Drafts of `tool.called`; the calls are open from now on. A call id that is open already is the same call. */
  async called(
    calls: readonly ToolCall[],
    request: number,
    place: Place,
    quarantined: ReadonlyMap<string, Quarantined> = nothing,
  ): Promise<EventDraft<'tool.called'>[]> {
    const drafts: EventDraft<'tool.called'>[] = []
    for (const call of calls) {
      const id = idOf(call.call)
      const name = headOf(call.name, nameBytes)
      if (this.#open.has(id)) continue
      const since = this.#clock.monotonic()
      const refusal = refusalBy(name, quarantined)
      this.#open.set(id, { ...call, call: id, name, place, since, used: null, operations: new Set(), refusal })
      const given = await this.#inline(call.arguments)
      drafts.push(
        draft(
          'tool.called',
          {
            call: id,
            name,
            arguments: given.text,
            ...(given.blob === null ? {} : { argumentsBlob: given.blob }),
            request,
          },
          place,
        ),
      )
    }
    return drafts
  }

  /** Drafts of `tool.finished` for the outputs that answer an open call; those calls are closed. Others are old news. */
  async finished(outputs: readonly ToolOutput[], place: Place): Promise<EventDraft<'tool.finished'>[]> {
    const drafts: EventDraft<'tool.finished'>[] = []
    for (const output of outputs) {
      const open = this.#open.get(idOf(output.call))
      if (!open) continue
      this.#open.delete(open.call)
      const text = open.refusal ?? output.text
      const shown = await this.#inline(text)
      drafts.push(
        draft(
          'tool.finished',
          {
            call: open.call,
            name: open.name,
            outcome: /^error:/i.test(text) ? 'error' : 'ok',
            output: shown.text,
            ...(shown.blob === null ? {} : { outputBlob: shown.blob }),
            outputBytes: Buffer.byteLength(text),
            durationMs: open.used ? open.used.to - open.used.from : this.#clock.monotonic() - open.since,
            ...operationsOf(open),
          },
          // It belongs to the step that asked for it, whatever turn delivers it.
          { ...place, turn: open.place.turn, step: open.place.step },
        ),
      )
    }
    return drafts
  }

  /**
   * Drafts that close what a generation leaves open: what its calls did before it ended, nobody can tell. Those of another,
   * which works beside it during a hand-over, stay open.
   */
  interrupted(place: Place): EventDraft<'tool.finished'>[] {
    const open = [...this.#open.values()].filter((call) => call.place.generation === place.generation)
    for (const { call } of open) this.#open.delete(call)
    return open.map((call) =>
      draft(
        'tool.finished',
        {
          call: call.call,
          name: call.name,
          outcome: 'interrupted',
          output: unknownEffect,
          outputBytes: Buffer.byteLength(unknownEffect),
          durationMs: this.#clock.monotonic() - call.since,
          ...operationsOf(call),
        },
        { ...place, turn: call.place.turn, step: call.place.step },
      ),
    )
  }

  /**
   * The open call that an operation in the sandbox belongs to: the only one, or the only one whose arguments name
   * what is done. Null where that is not certain: the audit guesses nothing.
   */
  ownerOf(what: string): { call: string; name: string } | null {
    const open = [...this.#open.values()]
    if (open.length === 1) return open[0] ?? null
    const naming = open.filter((call) => stringsIn(call.arguments).some((text) => what.includes(text)))
    return naming.length === 1 ? (naming[0] ?? null) : null
  }

  /**
   * Notes an operation under its call. A text where it is not to be carried out, because it is, or cannot be told from,
   * one of a tool in quarantine: beside such a call only what another one names word for word is surely not its own.
   */
  begins(method: KernelMethod, what: string, quarantined: ReadonlyMap<string, Quarantined>): string | null {
    const open = [...this.#open.values()]
    const held = open.filter((call) => call.refusal !== null || quarantined.has(call.name))
    if (held.length > 0) {
      const isOthers = open.some((call) => !held.includes(call) && names(call, what))
      if (!isOthers || held.some((call) => names(call, what))) {
        for (const call of held) call.refusal ??= refusalBy(call.name, quarantined)
        return held[0]?.refusal ?? null
      }
    }
    const owner = this.ownerOf(what)
    if (owner !== null) this.#open.get(owner.call)?.operations.add(method)
    return null
  }

  /** What the call is answered with in place of the executor's own words; null: with these. */
  refusalOf(call: string): string | null {
    return this.#open.get(idOf(call))?.refusal ?? null
  }

  /** Of the first open call of a tool in quarantine that none of these outputs answers; null: there is none. */
  unansweredRefusal(outputs: readonly ToolOutput[], quarantined: ReadonlyMap<string, Quarantined>): string | null {
    const answered = new Set(outputs.map(({ call }) => idOf(call)))
    for (const call of this.#open.values()) {
      if (answered.has(call.call)) continue
      const refusal = call.refusal ?? refusalBy(call.name, quarantined)
      if (refusal !== null) return refusal
    }
    return null
  }

  /** An operation of this call took from `from` (monotonic) until now. */
  used(call: string | null, from: number): void {
    const open = call === null ? undefined : this.#open.get(call)
    if (open) open.used = { from: open.used?.from ?? from, to: this.#clock.monotonic() }
  }

  async #inline(text: string): Promise<{ text: string; blob: string | null }> {
    if (Buffer.byteLength(text) <= inlineBytes) return { text, blob: null }
    const blob = await this.#history.putBlob(text)
    await this.#history.grantBlob(this.#agent, blob)
    return { text: headOf(text, inlineBytes), blob }
  }
}

/** As events and this table know a call: a provider's id of any length. */
function idOf(call: string): string {
  return call.length <= 128 ? call : `sha256:${sha256(call)}`
}

function refusalBy(name: string, quarantined: ReadonlyMap<string, Quarantined>): string | null {
  const found = quarantined.get(name)
  if (found === undefined) return null
  return `error: forbidden: the tool ${name} is in quarantine (${found.reason}): what it asks for is not carried out. Work without it.`
}

function operationsOf({ operations }: OpenCall): { operations?: string[] } {
  return operations.size === 0 ? {} : { operations: [...operations].sort() }
}

/** Whether an argument is this command, or this path or the end of it. */
function names({ arguments: given }: OpenCall, what: string): boolean {
  return stringsIn(given).some((text) => what === text || what.endsWith(`/${text}`))
}

/** Strings among the top-level values of a call's arguments; of arguments that are no JSON object, the whole. */
function stringsIn(text: string): string[] {
  try {
    const value: unknown = JSON.parse(text)
    const values = typeof value === 'object' && value !== null ? Object.values(value) : [value]
    return values.filter((part): part is string => typeof part === 'string' && part !== '')
  } catch {
    return text === '' ? [] : [text]
  }
}
