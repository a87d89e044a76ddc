import { KernelError } from '../../errors.ts'
import { type Check, fail, pass, unresolved } from './check.ts'

const stderrShown = 4_000
const toolsShown = 100

/** Starts the candidate in the kind of box it would run in: a handshake and one synthetic turn. */
export const boot: Check = {
  name: 'boot',
  description: 'A handshake and one synthetic turn in the kind of box that it would run in.',
  gates: true,
  thresholds: {},
  rules: { version: 1 },
  async run({ agent, revision }, { executors }) {
    try {
      const report = await executors().boot(revision, agent)
      const details = {
        stage: report.stage,
        exitCode: report.exitCode,
        stderr: report.stderr.slice(-stderrShown),
        startMs: Math.round(report.durationMs),
        tools: report.tools.slice(0, toolsShown).map(({ name }) => name.slice(0, 200)),
        firstRequest: report.firstRequest,
      }
      return report.passed ? pass(report.summary, details) : fail(report.summary, details)
    } catch (error) {
      if (error instanceof KernelError && error.code === 'unavailable')
        return unresolved(`it could not be started: ${error.message}. Mend it and propose again`)
      throw error
    }
  },
}
