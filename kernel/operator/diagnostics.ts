import { homedir, release } from 'node:os'
import { versions } from 'node:process'
import type { VaultStatus } from '../credentials/credentials.ts'
import type { HostStatus } from '../wire/operator.ts'

export interface DiagnosticsParts {
  status(): Promise<HostStatus>
  keys(): Promise<VaultStatus & { keys: unknown[] }>
  /** Masks keys. */
  redact(text: string): string
}

/** Versions and states, a line each: for someone who is asked for help. No name of a key, no text of an agent. */
export async function diagnosticsText({ status, keys, redact }: DiagnosticsParts): Promise<string> {
  const [host, vault] = await Promise.all([status(), keys()])
  const chromium = versions.electron === undefined ? [] : [`Electron ${versions.electron}, Chromium ${versions.chrome}`]
  const { verified, recovered, sandbox } = host
  const rows: [string, string][] = [
    ['Exodesk', [host.version, `${host.host} host`, `contract ${host.contract ?? 'from source'}`].join(', ')],
    ['runs on', [`Node ${versions.node}`, ...chromium, `${process.platform}-${process.arch} ${release()}`].join(', ')],
    ['started', `${time(host.startedAt)}, process ${process.pid}`],
    ['data', host.dataDir],
    ['history', `${host.lastSeq} events, ${verified === null ? 'not verified' : verifiedText(verified)}`],
    ['recovered', recovered === null ? 'nothing to recover' : `${time(recovered.at)}: ${recovered.summary}`],
    ...sandbox.providers.map((one): [string, string] => [
      `sandbox ${one.name}`,
      one.available ? one.detail : `not available: ${one.reason ?? one.detail}`,
    ]),
    ['keys', `${vault.keys.length} sealed, ${vault.state}${vault.sealer === null ? '' : `, by ${vault.sealer}`}`],
    ['tasks', `${host.running} running, ${host.decisions} to decide${host.unattended ? ', unattended' : ''}`],
    ...host.notices.map(({ id, severity, text }): [string, string] => [severity, `${id}: ${text}`]),
  ]
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  const text = rows.map(([name, value]) => `${name.padEnd(width)}${value.replace(/\s+/g, ' ')}`).join('\n')
  return redact(`${text}\n`).replaceAll(homedir(), '~')
}

function verifiedText({ ok, events, at, problem }: NonNullable<HostStatus['verified']>): string {
  return ok ? `verified at ${time(at)} (${events} events)` : `does not verify: ${problem ?? 'no reason given'}`
}

const time = (at: number) => new Date(at).toISOString()
