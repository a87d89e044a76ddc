import { KernelError } from '../errors.ts'
import type { TaskBrief } from '../wire/executor.ts'
import { BootAnswers } from './boot-answers.ts'
import { afterAwake } from './ends.ts'
import type { BootReport } from './executor.ts'
import { ExecutorProcess } from './process.ts'
import type { ExecutorParts } from './running.ts'

const maxSteps = 3

const briefOver = (api: TaskBrief['model']['api']): TaskBrief => ({
  task: 'T-0',
  instruction: 'Boot check: list the files of the working directory, then say that you are done.',
  workdir: '/task',
  model: {
    name: 'boot-check',
    api,
    contextWindow: 128_000,
    maxOutputTokens: 8_000,
    cacheReadFactor: null,
  },
  propose: true,
  limits: { budgetNanoUsd: null, budgetTokens: null, maxSteps, maxMs: null },
})

/**
 * Starts an unapproved tree where nothing can be reached, shakes hands, and lets it run one turn against scripted answers, over
 * the API of its agent's latest task: what speaks only another would fail as soon as it took over.
 */
export async function bootCheck(
  parts: Pick<ExecutorParts, 'history' | 'provider' | 'revisions' | 'clock' | 'tokens' | 'timings'>,
  revision: string,
  agent: string,
  label: string,
): Promise<BootReport> {
  const { clock, timings, tokens } = parts
  const from = clock.monotonic()
  const answers = new BootAnswers(tokens, clock, revision)
  const report: BootReport = {
    passed: false,
    stage: 'start',
    summary: '',
    exitCode: null,
    stderr: '',
    durationMs: 0,
    tools: [],
    firstRequest: null,
  }
  const latest = await parts.history.latest({ agent }, 'task.created')
  const brief = briefOver(latest?.data.model.api ?? 'responses')
  const folder = await parts.revisions.materialise(revision)
  let struck: string | null = null
  const process = await ExecutorProcess.start({
    provider: parts.provider,
    profile: 'boot',
    label,
    folder,
    clock,
    channel: {
      methods: answers.methods,
      onStruck: (problem) => {
        struck = problem
        process.kill().catch(() => undefined)
      },
    },
  })
  let settle = (): void => {}
  const deadline = new Promise<never>((_resolve, reject) => {
    const late = new KernelError('unavailable', `it was not done within ${timings.bootMs} ms`)
    settle = afterAwake(clock, timings.bootMs, () => reject(late))
  })
  deadline.catch(() => undefined)
  const ended = process.exited.then(({ exitCode, signal }) => {
    report.exitCode = exitCode
    throw new KernelError('unavailable', struck ?? `it ended (${signal ?? `exit code ${exitCode}`})`)
  })
  ended.catch(() => undefined)
  const inTime = <T>(work: Promise<T>): Promise<T> => {
    work.catch(() => undefined)
    // An exit explains more than the closed channel that it brings.
    return Promise.race([ended, deadline, work])
  }
  try {
    report.stage = 'handshake'
    const hello = await inTime(process.handshake({ agent, revision, activation: 1, task: brief }, timings))
    report.tools = hello.tools
    report.stage = 'turn'
    const turn = await inTime(process.channel.request('turn.run', { turn: 1, maxSteps, maxMs: timings.bootMs }))
    if (turn.outcome === 'failed')
      throw new KernelError('unavailable', `its turn failed: ${turn.reason ?? 'no reason'}`)
    if (answers.modelCalls === 0) throw new KernelError('unavailable', 'it made no model call in its turn')
    report.stage = 'done'
    report.passed = true
    report.summary = `handshake and one turn of ${answers.modelCalls} model calls, ended as ${turn.outcome}`
  } catch (error) {
    // Whatever a candidate does is a finding; what is not a KernelError is a fault of ours.
    if (!(error instanceof KernelError)) throw error
    report.summary = error.message
  } finally {
    settle()
    await process.kill()
  }
  report.stderr = process.lastWords
  report.firstRequest = answers.firstRequest
  report.durationMs = Math.round(clock.monotonic() - from)
  return report
}
