import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelCallResult, TurnRunParams, TurnRunResult } from '#wire'
import { apis } from './apis.ts'
import { Budget } from './budget.ts'
import { isDue, plan } from './compaction.ts'
import { type Context, message, rebuild } from './context.ts'
import { instructions, SUMMARISE, taskMessage } from './instructions.ts'
import type { Kernel } from './kernel.ts'
import type { Request } from './model.ts'
import { offered, run } from './toolbox.ts'
import type { Turn } from './turn.ts'
import { WireError } from './wire.ts'

/** Waits between tries of a model call that the kernel, after retries of its own, calls unavailable. */
const RETRY_MS = [500, 5_000]
/** A model that answers this often in a row without calling a tool is stuck. */
const IDLE_ANSWERS_MAX = 5

/**
 * One turn: context from history, then steps (a model call and its tool calls, one after the other) until the task is
 * complete, the turn's caps are reached, or the kernel drains or cancels. Ends only at a step's end, but for a cancel.
 * @throws what is a fault of this policy; what the kernel refuses ends the turn as failed, with the reason.
 */
export async function runTurn(params: TurnRunParams, kernel: Kernel, turn: Turn): Promise<TurnRunResult> {
  const until = Date.now() + params.maxMs
  const context = await rebuild(kernel, (topics, asked) => taskMessage(kernel.task, topics, asked))
  const budget = new Budget(kernel)
  await budget.open()
  const { model, propose } = kernel.task
  kernel.completed = false
  let steps = 0
  let said = ''
  const end = (outcome: TurnRunResult['outcome'], reason?: string): TurnRunResult => ({
    outcome,
    ...(reason === undefined ? {} : { reason: reason.slice(0, 2_000) }),
    steps,
    toolOutputs: [...context.unsentResults],
  })
  try {
    while (steps < params.maxSteps && Date.now() < until && !turn.draining) {
      if (isDue(context, model)) await compact(context, kernel, turn, budget, false)
      await context.join(kernel)
      if (context.idleAnswers >= IDLE_ANSWERS_MAX)
        return end('failed', `${IDLE_ANSWERS_MAX} answers in a row called no tool; the last said: ${said || 'nothing'}`)
      const notice = budget.notice(context.told)
      if (notice !== null) await context.tell(kernel, notice)

      const result = await callOrShorten(context, kernel, turn, budget)
      const answer = apis[model.api].read(result.response)
      context.answered(result, answer)
      said = answer.text || answer.refusal
      for (const call of answer.calls) {
        context.finished(call.id, await turn.untilCancelled(run(call, offered(propose), kernel)))
        if (kernel.completed) break
      }
      steps += 1
      if (kernel.completed) return end('completed')
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    return error.code === 'cancelled' ? end('yielded', error.message) : end('failed', `${error.code}: ${error.message}`)
  }
  return end('yielded')
}

/**
 * The next answer. A request that the provider finds invalid may be too long, whatever its window is said to be: then it is
 * tried once more, shortened.
 */
async function callOrShorten(context: Context, kernel: Kernel, turn: Turn, budget: Budget): Promise<ModelCallResult> {
  try {
    return await call(wanted(kernel, context.input()), kernel, turn, budget)
  } catch (error) {
    if (!(error instanceof WireError) || error.code !== 'invalid') throw error
    if (!(await compact(context, kernel, turn, budget, true))) throw error
    return await call(wanted(kernel, context.input()), kernel, turn, budget)
  }
}

/** False: nothing was shortened, because there is too little or the model wrote no summary. */
async function compact(
  context: Context,
  kernel: Kernel,
  turn: Turn,
  budget: Budget,
  overflowed: boolean,
): Promise<boolean> {
  const planned = plan(context, overflowed)
  if (planned === null) return false
  const input = [...context.input(planned.summarise), message(SUMMARISE)]
  const { seq, response } = await call({ ...wanted(kernel, input), mayCall: false }, kernel, turn, budget)
  const { text } = apis[kernel.task.model.api].read(response)
  if (text.trim() === '') {
    console.error('the model wrote no summary; the context stays as it is')
    await context.drop(kernel, seq)
    return false
  }
  await context.summarise(kernel, text, planned.keepFrom)
  return true
}

function wanted(kernel: Kernel, input: Request['input']): Request {
  const { task } = kernel
  return {
    model: task.model,
    cacheKey: task.task,
    instructions: instructions(task),
    tools: offered(task.propose),
    input,
    mayCall: true,
  }
}

async function call(wanted: Request, kernel: Kernel, turn: Turn, budget: Budget): Promise<ModelCallResult> {
  for (let tries = 0; ; tries += 1) {
    try {
      const result = await turn.untilCancelled(kernel.call('model.call', apis[wanted.model.api].request(wanted)))
      budget.spend(result)
      return result
    } catch (error) {
      const wait = RETRY_MS[tries]
      if (!(error instanceof WireError) || error.code !== 'unavailable' || wait === undefined) throw error
      console.error(`model unavailable, next try in ${wait} ms: ${error.message}`)
      await turn.untilCancelled(sleep(wait))
    }
  }
}
