import { KernelError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { RequestDraft, StoredRequest } from '../../history/history.ts'
import type { GatewayAnswer } from '../../models/models.ts'
import { sha256 } from '../../store/chain.ts'
import { draft, type EventDraft } from '../../wire/events.ts'
import type { Json, ModelCallParams, ModelCallResult } from '../../wire/executor.ts'
import type { Place } from '../calls.ts'
import type { InboundCall, Methods } from '../channel.ts'
import {
  answerItems,
  composition,
  conversationField,
  type Item,
  itemKind,
  itemOf,
  requestItems,
  toolCalls,
  toolOutputs,
  typeOf,
} from '../items.ts'
import type { Running } from '../running.ts'
import { answeredWith, withoutTools } from './offered.ts'
import { countStored } from './stored.ts'

/** More is no answer to anything, and would not fit into its event. */
const outputItems = 500

/** Of a call that cannot be sent: no key, a key that is gone or for another address, no price. */
const operatorsDoing = new Set<KernelError['code']>(['unavailable', 'not-found', 'forbidden'])

interface Prepared {
  body: Record<string, unknown>
  items: Item[]
  drafts: RequestDraft['items']
  stored: StoredRequest
  place: Place
}

export function modelMethods(running: Running): Pick<Methods, 'model.call'> {
  return {
    async 'model.call'(params, call) {
      if (params.api !== running.spec.task.model.api) {
        throw new KernelError('invalid', `api: this task's model speaks ${running.spec.task.model.api}`)
      }
      call.what = `waiting for ${running.spec.task.model.name}`
      try {
        const prepared = await running.exclusively(() => prepare(running, params, call))
        await running.spec.task.safePoint?.()
        return await send(running, params, call, prepared)
      } catch (error) {
        if (error instanceof KernelError && error.code === 'over-budget') await running.overBudget(error)
        throw error
      }
    },
  }
}

/** Begins the step: what the last one's tools brought is recorded, then the request is stored, and only then anything is sent. */
async function prepare(running: Running, params: ModelCallParams, call: InboundCall): Promise<Prepared> {
  const { history } = running.parts
  const { agent, task } = running.spec
  const { references, calls } = running.memory
  const field = conversationField[params.api]
  const given = params.body[field]
  const quarantined = await running.parts.quarantine.of(agent)
  const said = await references.resolve(Array.isArray(given) ? given : given === undefined ? [] : [given])
  const items = said.map((item) => answered(running, params.api, item))
  const refusal = calls.unansweredRefusal(toolOutputs(items), quarantined)
  if (refusal !== null) throw new KernelError('forbidden', refusal.replace(/^error: forbidden: /, ''))
  call.signal.throwIfAborted()
  await running.beginStep()
  const place = running.place('kernel')
  const finished = await calls.finished(toolOutputs(items), place)
  if (finished.length > 0) await history.append(finished)
  const offered = withoutTools(params.body, quarantined)
  const draftItems = requestItems(params.api, offered, items)
  countItems(running, draftItems)
  const stored = await history.putRequest({ agent, task: task.task, model: task.model.name, items: draftItems })
  for (const [index, { kind, json }] of draftItems.entries()) {
    const hash = stored.itemHashes[index]
    if (hash !== undefined && kind !== 'tools') references.add(hash, json)
  }
  const body = Array.isArray(given) ? { ...offered, [field]: items.map(({ value }) => value) } : offered
  return { body, items, drafts: draftItems, stored, place }
}

/** The result of a call that was refused says so, whatever the executor says; it may go on naming its own by reference. */
function answered(running: Running, api: ModelCallParams['api'], item: Item): Item {
  const [output] = toolOutputs([item])
  const refusal = output === undefined ? null : running.memory.calls.refusalOf(output.call)
  if (refusal === null) return item
  const told = itemOf(answeredWith(api, item.value, refusal))
  running.memory.references.add(sha256(item.json), told.json)
  return told
}

async function send(
  running: Running,
  params: ModelCallParams,
  call: InboundCall,
  prepared: Prepared,
): Promise<ModelCallResult> {
  const { gateway, history } = running.parts
  const { agent, task } = running.spec
  const { place, body } = prepared
  const stalled = new AbortController()
  const stream = params.stream === true ? running.openStream(call, (error) => stalled.abort(error)) : null
  try {
    failpoint('model:before-send')
    // From the first reservation on, what fails here is history's.
    let isReady = false
    const asked = gateway.call({
      agent,
      task: task.task,
      model: task.model,
      body,
      signal: AbortSignal.any([call.signal, stalled.signal]),
      ...(stream === null ? {} : { onDelta: (delta) => stream.delta(delta) }),
      onReserve: async (reservation) => {
        isReady = true
        const data = { ...reservation, ...requestOf(prepared), model: task.model.name }
        const [event] = await history.append([draft('model.reserved', data, place)])
        failpoint('model:reserved')
        return event?.seq ?? 0
      },
      onAttempt: async (attempt) => {
        failpoint('model:before-attempted')
        await history.append([draft('model.attempted', { ...attempt, model: task.model.name }, place)])
        failpoint('model:attempted')
      },
    })
    const given = await asked.catch((error: unknown) => {
      // The provider's failures are answers: this one was never sent.
      if (!isReady && error instanceof KernelError && operatorsDoing.has(error.code)) task.refused(error.message)
      throw error
    })
    failpoint('model:after-answer')
    const answer = withinReason(params, given)
    if (isUsable(answer)) await stream?.end()
    else stream?.abandon()
    const seq = await record(running, params, prepared, answer)
    return resultOf(running, answer, seq, call.signal.aborted ? call.signal.reason : stalled.signal.reason)
  } finally {
    stream?.abandon()
    running.closeStream(call)
  }
}

/** Items are kept once, however often they are sent. */
function countItems(running: Running, items: readonly { json: string }[]): void {
  const { sentItems } = running.memory
  const added = new Map<string, number>()
  for (const { json } of items) {
    const hash = sha256(json)
    if (!sentItems.has(hash)) added.set(hash, Buffer.byteLength(json))
  }
  countStored(
    running,
    [...added.values()].reduce((sum, bytes) => sum + bytes, 0),
  )
  for (const hash of added.keys()) sentItems.add(hash)
}

/** What a provider makes up without end is refused, and what it cost is kept. */
function withinReason({ api }: ModelCallParams, answer: GatewayAnswer): GatewayAnswer {
  const items = answerItems(api, answer.response)
  // Chat puts all calls into one item.
  const length = Math.max(items.length, toolCalls(items).length)
  if (length <= outputItems) return answer
  const message = `the model answered with ${length} items; at most ${outputItems} are taken`
  return { ...answer, status: 'failed', response: null, error: { code: 'unavailable', message } }
}

/** The call, the tool calls that it led to and the use of a key: one commit, so that no history has half of it. */
async function record(
  running: Running,
  params: ModelCallParams,
  prepared: Prepared,
  answer: GatewayAnswer,
): Promise<number> {
  const { body, items, stored, place } = prepared
  const { history, tokens } = running.parts
  const { agent, task } = running.spec
  const output = answerItems(params.api, answer.response)
  const hashes = await Promise.all(
    output.map(async ({ json, value }) => {
      const hash = await history.putBlob(json)
      await history.grantBlob(agent, hash)
      running.memory.references.add(hash, json)
      return { hash, type: typeOf(value) }
    }),
  )
  const kept = await running.memory.kept.texts()
  const called = draft(
    'model.called',
    {
      ...requestOf({ stored }),
      api: params.api,
      model: task.model.name,
      simulated: task.model.simulated,
      status: answer.status,
      attempts: answer.attempts,
      usage: answer.usage,
      usageSource: answer.usageSource,
      costNanoUsd: answer.costNanoUsd,
      costReason: answer.costReason,
      priceVersion: answer.priceVersion,
      ...(answer.prices === undefined ? {} : { prices: answer.prices }),
      ...(answer.cacheReported === undefined ? {} : { cacheReported: answer.cacheReported }),
      durationMs: answer.durationMs,
      firstByteMs: answer.firstByteMs,
      output: hashes,
      firstDifference: await differing(running, prepared),
      composition: composition(params.api, body, items, tokens, kept),
      error: answer.error?.message ?? null,
    },
    place,
  )
  const quarantined = await running.parts.quarantine.of(agent)
  const opened = await running.memory.calls.called(toolCalls(output), stored.id, place, quarantined)
  const drafts: EventDraft[] = [called, ...opened]
  const credential = task.model.credential ?? task.model.keyEnv
  if (credential !== null && answer.attempts > 0) {
    drafts.push(draft('credential.used', { credential, model: task.model.name }, place))
  }
  const [event] = await history.append(drafts)
  return event?.seq ?? 0
}

/** With what the differing item is: where the request ends before its parent does, the item of the parent. */
async function differing(running: Running, { drafts, stored }: Prepared): Promise<StoredRequest['firstDifference']> {
  const found = stored.firstDifference
  if (found === null || found.kind === 'model') return found
  if (found.kind !== 'item') return { ...found, what: found.kind }
  const json = drafts[found.index]?.json ?? String(await running.parts.history.getBlob(found.before ?? ''))
  return { ...found, what: itemKind(JSON.parse(json), await running.memory.kept.texts()) }
}

/** A cut answer of which nothing was finished is incomplete, and of no use. */
type Usable = GatewayAnswer & { status: 'completed' | 'incomplete'; response: Record<string, unknown> }
function isUsable(answer: GatewayAnswer): answer is Usable {
  return (answer.status === 'completed' || answer.status === 'incomplete') && answer.response !== null
}

function requestOf({ stored }: Pick<Prepared, 'stored'>) {
  const { id, hash, parent, keptItems, itemHashes } = stored
  return { request: id, requestHash: hash, parent, keptItems, items: itemHashes.length }
}

function resultOf(running: Running, answer: GatewayAnswer, seq: number, aborted: unknown): ModelCallResult {
  const { usage, error } = answer
  if (isUsable(answer) && usage !== null) {
    return {
      seq,
      status: answer.status,
      response: answer.response as { [key: string]: Json },
      usage,
      costNanoUsd: answer.costNanoUsd,
      pendingEvents: running.takePendingEvents(),
    }
  }
  if (aborted instanceof KernelError) throw aborted
  throw new KernelError(error?.code ?? 'unavailable', error?.message ?? 'the model gave no answer', {
    details: { ...error?.details, seq },
  })
}
