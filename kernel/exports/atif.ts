import type { Event } from '../wire/events.ts'
import { isKind } from './entries.ts'
import type { Entry, Writer } from './exports.ts'
import { answerOf, isFields } from './items.ts'

/** Of the format. Its readers refuse a field that they do not know. */
const schemaVersion = 'ATIF-v1.7'

interface AgentStep {
  fields: Record<string, unknown>
  results: Map<string, { content: string; seq: number } | null>
}

/**
 * One task as an agent trajectory. What the operator said are steps of the user, what the kernel or a revision did are
 * steps of the system, each answer of the model is one of the agent, with the results of its calls as observation.
 */
export const atif: Writer = async function* (entries, context) {
  let number = 0
  let open: AgentStep | null = null
  const waiting: Record<string, unknown>[] = []
  let isBegun = false
  const sums = { prompt: 0, completion: 0, cached: 0, nanoUsd: 0, unknown: 0, unplaced: 0 }
  const step = (fields: Record<string, unknown>): string => {
    number += 1
    return `${number === 1 ? '' : ',\n'}${JSON.stringify({ step_id: number, ...fields })}`
  }
  function* closed(): Generator<string> {
    if (open === null) return
    const results = [...open.results].flatMap(([call, result]) =>
      result === null ? [] : [{ source_call_id: call, content: result.content, extra: { seq: result.seq } }],
    )
    yield step({ ...open.fields, ...(results.length === 0 ? {} : { observation: { results } }) })
    open = null
    for (const fields of waiting.splice(0)) yield step(fields)
  }
  // What happens while a step's calls are under way stands after it: their results belong to it.
  function* after(fields: Record<string, unknown>): Generator<string> {
    if (open === null) yield step(fields)
    else waiting.push(fields)
  }

  for await (const entry of entries) {
    const { event } = entry
    if (isKind(event, 'task.created') && !isBegun) {
      isBegun = true
      const { model, title } = event.data
      const root = {
        schema_version: schemaVersion,
        session_id: `exodesk-${event.task}-${event.hash.slice(0, 12)}`,
        trajectory_id: `${event.task}-${event.hash.slice(0, 12)}`,
        agent: { name: event.agent ?? 'exodesk', version: context.version, model_name: model.name },
        ...(model.simulated ? { notes: 'Played by a simulated model: its figures are no bill.' } : {}),
        extra: { task: event.task, title, simulated: model.simulated },
      }
      yield `${JSON.stringify(root).slice(0, -1)},"steps":[\n`
      yield step({ timestamp: iso(event), source: 'user', message: event.data.instruction, extra: { seq: event.seq } })
    } else if (isKind(event, 'task.steered') || isKind(event, 'task.answered')) {
      yield* after({ timestamp: iso(event), source: 'user', message: event.data.text, extra: { seq: event.seq } })
    } else if (isKind(event, 'model.called') && entry.output.length > 0) {
      yield* closed()
      open = agentStep(event, entry)
      const { usage, costNanoUsd } = event.data
      if (usage !== null) {
        sums.prompt += usage.uncached + usage.cacheRead + usage.cacheWrite
        sums.completion += usage.output
        sums.cached += usage.cacheRead
      }
      if (costNanoUsd === null) sums.unknown += 1
      else sums.nanoUsd += costNanoUsd
    } else if (isKind(event, 'tool.finished')) {
      const { call } = event.data
      const result = { content: entry.text, seq: event.seq }
      if (open?.results.has(call) && open.results.get(call) === null) open.results.set(call, result)
      else sums.unplaced += 1
    } else {
      const said = systemLine(event)
      if (said === null) continue
      yield* after({
        timestamp: iso(event),
        source: 'system',
        message: said,
        extra: { seq: event.seq, kind: event.kind },
      })
    }
  }
  yield* closed()
  const final = {
    total_prompt_tokens: sums.prompt,
    total_completion_tokens: sums.completion,
    total_cached_tokens: sums.cached,
    ...(sums.unknown === 0 ? { total_cost_usd: sums.nanoUsd / 1e9 } : {}),
    total_steps: number,
    extra: { calls_of_unknown_cost: sums.unknown, results_without_call: sums.unplaced },
  }
  yield `\n],"final_metrics":${JSON.stringify(final)}}\n`
}

function agentStep(event: Event<'model.called'>, { output }: Entry): AgentStep {
  const { text, reasoning, calls } = answerOf(output)
  const { usage, costNanoUsd, model, attempts } = event.data
  const metrics = usage && {
    prompt_tokens: usage.uncached + usage.cacheRead + usage.cacheWrite,
    completion_tokens: usage.output,
    cached_tokens: usage.cacheRead,
    ...(costNanoUsd === null ? {} : { cost_usd: costNanoUsd / 1e9 }),
    extra: { cache_write_tokens: usage.cacheWrite, reasoning_tokens: usage.reasoning },
  }
  const fields = {
    timestamp: iso(event),
    source: 'agent',
    model_name: model,
    message: text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: given }) => ({
            tool_call_id: id,
            function_name: name,
            ...argumentsOf(given),
          })),
        }),
    ...(metrics === null ? {} : { metrics }),
    llm_call_count: Math.max(1, attempts),
    extra: { seq: event.seq, turn: event.turn, step: event.step, revision: event.revision },
  }
  return { fields, results: new Map(calls.map(({ id }) => [id, null])) }
}

/** Arguments are an object there; what is none is kept as it was written. */
function argumentsOf(given: string): { arguments: object; extra?: object } {
  try {
    const value: unknown = JSON.parse(given)
    if (isFields(value)) return { arguments: value }
  } catch {
    // As it was written.
  }
  return { arguments: {}, extra: { raw_arguments: given } }
}

/** null: nothing that belongs into a trajectory. */
function systemLine(event: Event): string | null {
  if (isKind(event, 'proposal.made')) return `proposal ${event.data.proposal}: ${event.data.claim}`
  if (isKind(event, 'proposal.reviewed'))
    return `proposal ${event.data.proposal} ${event.data.verdict} by ${event.data.by}`
  if (isKind(event, 'revision.activated')) return `revision r${event.data.activation} is active (${event.data.cause})`
  if (isKind(event, 'revision.rolled-back')) return `rolled back to r${event.data.to.activation}: ${event.data.reason}`
  if (isKind(event, 'message.appended') && event.data.role === 'summary') return event.data.text
  if (isKind(event, 'task.finished')) return `task ${event.data.outcome}: ${event.data.reason}`
  return null
}

const iso = (event: Event) => new Date(event.at).toISOString()
