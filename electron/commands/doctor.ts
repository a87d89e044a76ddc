import { existsSync } from 'node:fs'
import type { BaseImageSource, Examined } from '../../kernel/kernel.ts'
import { dockerEngine } from '../docker-engine.ts'
import { findRunningHost } from '../host-client.ts'
import { hostResources, version } from '../resources.ts'
import { BadArguments, type Command, type ExitCode, exitCode, parseCommand } from './command.ts'
import { say, sayJson, table } from './text.ts'

const flags = {
  all: { type: 'boolean' },
  sandbox: { type: 'string' },
  'build-base-image': { type: 'boolean' },
  'base-image-tar': { type: 'string' },
  pull: { type: 'string' },
} as const

export const doctor: Command = {
  synopsis: '[--all] [--sandbox docker|local] [--build-base-image | --base-image-tar FILE | --pull NAME]',
  summary: 'see what this machine offers, and prove in a box of every profile what it prevents',
  notes: [
    'Exit code 1 where a box lets something through, 3 where no box can be had (with the one command that mends it).',
    'Docker boxes begin with one image. --build-base-image makes it by debootstrap from the mirror that apt uses here;',
    '--base-image-tar takes a root file system that you have; --pull takes an image from a registry.',
  ],
  async run(args) {
    const { values, dataDir, json } = parseCommand(args, flags)
    const { sandbox } = values
    if (sandbox !== undefined && sandbox !== 'docker' && sandbox !== 'local')
      throw new BadArguments(`--sandbox is docker or local, not ${sandbox}`)
    const resources = hostResources()
    const { docker } = dockerEngine(process.env)
    const { makeBaseImage, probeSandbox } = await import('../../kernel/kernel.ts')
    const source = imageSource(values)
    if (source !== null) {
      if (docker === undefined)
        throw new BadArguments('no Docker engine is here to give an image to: install docker.io')
      const id = await makeBaseImage(docker.socketPath, source, json ? () => {} : say, docker.image)
      if (!json) say(`base image ${id}`)
    }
    const parts = [
      ['Node for boxes', resources.node],
      ...resources.checker.map(({ host }) => ['type checker', host] as const),
      ['starting policy', resources.seed],
      ['wire types', resources.wire],
      ['task packs', resources.packs],
    ].map(([what, path]) => ({ what: what as string, path: path as string, isThere: existsSync(path as string) }))
    const running = await findRunningHost(dataDir)
    const examined = await probeSandbox(resources, docker, sandbox)
    const missing = parts.filter((part) => !part.isThere)
    const code = verdict(examined, missing.length)
    if (json) {
      sayJson({
        ok: code === exitCode.done,
        version: version(),
        dataDir,
        host: running?.facts ?? null,
        parts,
        providers: examined.map(({ report, probes, error }) => ({ ...report, probes, error })),
      })
      return code
    }
    say(`Exodesk ${version()}, Node ${process.versions.node}, ${process.platform}-${process.arch}`)
    say(
      `data      ${dataDir}, ${running === null ? 'held by nobody' : `held by a ${running.facts.host} host (process ${running.facts.pid})`}`,
    )
    for (const part of missing) say(`MISSING   ${part.what}: ${part.path}`)
    if (sandbox === undefined && docker === undefined) say('docker    no Docker engine on this machine')
    for (const one of examined) show(one, values.all === true)
    return code
  },
}

function imageSource(values: {
  'build-base-image'?: boolean
  'base-image-tar'?: string
  pull?: string
}): BaseImageSource | null {
  const { 'build-base-image': build, 'base-image-tar': file, pull: name } = values
  if ([build, file, name].filter((value) => value !== undefined).length > 1)
    throw new BadArguments('one of --build-base-image, --base-image-tar and --pull at a time')
  if (build) return { kind: 'build' }
  if (file !== undefined) return { kind: 'tar', file }
  return name === undefined ? null : { kind: 'pull', name }
}

/** Boxes that cannot be had are no fault as long as others can. */
function verdict(examined: readonly Examined[], missing: number): ExitCode {
  const usable = examined.filter(({ report }) => report.available)
  if (usable.length === 0 || usable.some(({ error }) => error !== null)) return exitCode.cannotRun
  const failed = usable.some(({ probes }) => probes.some((probe) => !probe.holds))
  return failed || missing > 0 ? exitCode.doesNotHold : exitCode.done
}

function show({ report, probes, error }: Examined, all: boolean): void {
  say(
    `${report.name.padEnd(9)} ${report.available ? report.detail : `NOT AVAILABLE: ${report.reason ?? report.detail}`}`,
  )
  if (!report.available && report.fix !== undefined) say(`          mend it with: ${report.fix}`)
  if (error !== null) say(`          the probes did not run: ${error}`)
  const failed = probes.filter((probe) => !probe.holds)
  if (probes.length > 0) say(`          ${probes.length - failed.length} of ${probes.length} probes hold`)
  const shown = all ? probes : failed
  if (shown.length === 0) return
  const rows = shown.map(({ holds, profile, probe, expected, saw }) => [
    holds ? 'holds' : 'FAILS',
    profile,
    probe,
    expected,
    saw,
  ])
  say(table(['', 'box', 'probe', 'expected', 'saw'], rows))
}
