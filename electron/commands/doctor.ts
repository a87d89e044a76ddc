import { existsSync } from 'node:fs'
import { findRunningHost } from '../host-client.ts'
import { hostResources, version } from '../resources.ts'
import { type Command, exitCode, parseCommand } from './command.ts'
import { say, sayJson, table } from './text.ts'

export const doctor: Command = {
  synopsis: '[--all]',
  summary: 'see what this machine offers, and prove in a box of every profile what it prevents',
  notes: [
    'Exit code 1 where a box lets something through, 3 where no box can be had (with the one command that mends it).',
  ],
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, { all: { type: 'boolean' } } as const)
    const resources = hostResources()
    const parts = [
      ['Node for boxes', resources.node],
      ...resources.checker.map(({ host }) => ['type checker', host] as const),
      ['starting policy', resources.seed],
      ['wire types', resources.wire],
      ['task packs', resources.packs],
    ].map(([what, path]) => ({ what: what as string, path: path as string, isThere: existsSync(path as string) }))
    const running = await findRunningHost(dataDir)
    const { probeSandbox } = await import('../../kernel/kernel.ts')
    const { report, probes, error } = await probeSandbox(resources)
    const failed = probes.filter((probe) => !probe.holds)
    const missing = parts.filter((part) => !part.isThere)
    const code =
      !report.available || error !== null
        ? exitCode.cannotRun
        : failed.length + missing.length > 0
          ? exitCode.doesNotHold
          : exitCode.done
    if (json) {
      sayJson({
        ok: code === exitCode.done,
        version: version(),
        dataDir,
        host: running?.facts ?? null,
        sandbox: report,
        parts,
        probes,
        error,
      })
      return code
    }
    say(`Exodesk ${version()}, Node ${process.versions.node}, ${process.platform}-${process.arch}`)
    say(
      `data      ${dataDir}, ${running === null ? 'held by nobody' : `held by a ${running.facts.host} host (process ${running.facts.pid})`}`,
    )
    for (const part of missing) say(`MISSING   ${part.what}: ${part.path}`)
    say(`sandbox   ${report.available ? report.detail : `NOT AVAILABLE: ${report.reason ?? report.detail}`}`)
    if (!report.available && report.fix !== undefined) say(`          mend it with: ${report.fix}`)
    if (error !== null) say(`          the probes did not run: ${error}`)
    if (probes.length > 0) say(`probes    ${probes.length - failed.length} of ${probes.length} hold`)
    const shown = values.all === true ? probes : failed
    if (shown.length > 0)
      say(
        table(
          ['', 'box', 'probe', 'expected', 'saw'],
          shown.map(({ holds, profile, probe, expected, saw }) => [
            holds ? 'holds' : 'FAILS',
            profile,
            probe,
            expected,
            saw,
          ]),
        ),
      )
    return code
  },
}
