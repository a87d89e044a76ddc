import type { History } from '../history/history.ts'
import { sha256 } from '../store/chain.ts'
import { draft, type EventDraft } from '../wire/events.ts'

/**
 * For tests: one task of two steps, as the kernel records it, beside one of another agent. `breaksAfter`: the second request
 * keeps this message and goes on otherwise.
 */
export async function recordRun(
  history: History,
  { answer = 'I look first.', output = 'beans.txt', steer = 'Be quick.', title = 'count beans', breaksAfter = '' } = {},
): Promise<void> {
  const header = {
    actor: 'kernel',
    agent: 'a',
    task: 'T-1',
    run: 'task',
    revision: sha256('one'),
    generation: 1,
  } as const
  const call = { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"command":"ls"}' }
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer }] }
  const result = { type: 'function_call_output', call_id: 'c1', output }
  const user = { role: 'user', content: 'Count the beans.' }
  const tools = [{ type: 'function', name: 'shell', description: 'runs a command', parameters: { type: 'object' } }]
  const item = (value: unknown) => ({ kind: 'item' as const, json: JSON.stringify(value) })
  const lead = [
    { kind: 'instructions' as const, json: JSON.stringify('You count.') },
    { kind: 'tools' as const, json: JSON.stringify(tools) },
  ]
  const place = (step: number) => ({ ...header, turn: 1, step })

  await history.append([
    taskCreated({ ...header, task: 'T-2', agent: 'b' }, 'of another task'),
    taskCreated(header, title),
  ])
  await history.append([
    draft('task.started', {}, header),
    draft('turn.started', { maxSteps: 50, maxMs: 1_000 }, { ...header, turn: 1 }),
  ])
  const first = [...lead, item(user)]
  await called(history, place(1), first, [said, call])
  await history.append([
    draft('tool.called', { call: 'c1', name: 'shell', arguments: call.arguments, request: 1 }, place(1)),
    draft('task.steered', { text: steer }, { ...place(1), actor: 'operator' }),
    draft(
      'tool.finished',
      { call: 'c1', name: 'shell', outcome: 'ok', output, outputBytes: output.length, durationMs: 120 },
      place(2),
    ),
  ])
  const last = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'There are 15.' }] }
  const told = { role: 'user', content: `The shell said: ${output}` }
  const rest = breaksAfter === '' ? [item(said), item(call), item(result)] : [item(told)]
  const kept =
    breaksAfter === '' ? first : [...first.slice(0, 2), item({ role: 'user', content: `${breaksAfter} Go on.` })]
  await called(history, place(2), [...kept, ...rest], [last])
  await history.append([
    draft('turn.ended', { outcome: 'completed', reason: null, steps: 2 }, { ...header, turn: 1 }),
    draft('task.finished', { outcome: 'completed', reason: 'counted', progress: null }, header),
  ])
}

function taskCreated(header: Pick<EventDraft, 'actor' | 'agent' | 'task'>, title: string) {
  return draft(
    'task.created',
    {
      title,
      pack: null,
      instruction: 'Count the beans.',
      model: { name: 'sim', api: 'responses', baseUrl: 'http://127.0.0.1:1', keyEnv: null, simulated: true },
      sandbox: 'local',
      limits: { budgetNanoUsd: null, budgetTokens: null, maxSteps: null, maxMs: null },
      goal: null,
      seed: 1,
      propose: true,
      approve: 'none',
      workdir: '/task',
    },
    header as EventDraft<'task.created'>,
  )
}

async function called(
  history: History,
  header: Omit<EventDraft, 'kind' | 'data'> & { agent: string; task: string },
  items: { kind: 'instructions' | 'tools' | 'item'; json: string }[],
  output: { type: string }[],
): Promise<void> {
  const stored = await history.putRequest({ agent: header.agent, task: header.task, model: 'sim', items })
  const hashes = await Promise.all(
    output.map(async (each) => ({ hash: await history.putBlob(JSON.stringify(each)), type: each.type })),
  )
  const data = {
    request: stored.id,
    parent: stored.parent,
    keptItems: stored.keptItems,
    items: items.length,
    api: 'responses',
    model: 'sim',
    simulated: true,
    status: 'completed',
    attempts: 1,
    usage: { uncached: 200, cacheRead: 1000, cacheWrite: 0, output: 40, reasoning: 0 },
    usageSource: 'reported',
    costNanoUsd: 600_000,
    costReason: null,
    priceVersion: null,
    durationMs: 900,
    firstByteMs: 100,
    output: hashes,
    firstDifference: null,
    composition: { instructions: 3, tools: 20, messages: 9, toolResults: 0 },
    error: null,
  } as const
  await history.append([draft('model.called', data, header as EventDraft<'model.called'>)])
}
