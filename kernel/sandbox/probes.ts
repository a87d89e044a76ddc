import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { KernelError } from '../errors.ts'
import { type BatteryInput, battery } from './probe-battery.ts'
import { profiles } from './profiles.ts'
import type { BoxMounts, ProfileName, ProviderName, SandboxProvider } from './sandbox.ts'

/** One thing that a box must prevent (or must offer), and what was seen. `host` rows show that the probe itself works. */
export interface ProbeResult {
  profile: ProfileName | 'host'
  probe: string
  holds: boolean
  expected: string
  saw: string
}

/** What every profile's box must show. */
const everywhere: Readonly<Record<string, string>> = {
  'user and groups': '65534',
  capabilities: 'none',
  'no new privileges': 'set',
  'system-call filter': 'on',
  'set-user files': 'ignored',
  'host name': 'exodesk',
  'processes in sight': 'own',
  'network devices': 'lo',
  'loopback 127.0.0.1': 'closed',
  'loopback ::1': 'closed',
  'abstract socket': 'closed',
  'unroutable 192.0.2.1': 'closed',
  'metadata 169.254.169.254': 'closed',
  'name service': 'closed',
  'name service, localhost': 'resolved',
  environment: 'clean',
  descriptors: 'own',
  'host files': 'absent',
  'write /': 'denied',
  'write /usr': 'denied',
  'write /bin': 'denied',
  'write /etc': 'denied',
  'write /dev': 'denied',
  'write /exodesk/bin': 'denied',
  'write kernel settings': 'denied',
  'run a program': 'allowed',
  'new user namespace': 'denied',
  'new mount namespace': 'denied',
  'become root': 'denied',
  'open files': 'limited',
  processes: 'limited',
}

const workspace = { 'write /task': 'writable', 'write /home/agent': 'writable', 'write /opt': 'writable' }

/** The golden values: each profile's box must show exactly these. */
const goldenProbes: Readonly<Record<ProfileName, Readonly<Record<string, string>>>> = {
  executor: { ...everywhere, 'write /tmp': 'writable', 'write /revision': 'denied' },
  boot: { ...everywhere, 'write /tmp': 'writable', 'write /revision': 'denied' },
  check: { ...everywhere, 'write /tmp': 'writable', 'write /revision': 'denied', 'write /policy': 'denied' },
  task: {
    ...everywhere,
    ...workspace,
    'write /tmp': 'writable',
    'write /policy': 'writable',
    'write /run/world': 'denied',
    'write /exodesk/pack': 'denied',
    'write /run/endpoints': 'denied',
  },
  world: {
    ...everywhere,
    'write /tmp': 'writable',
    'write /world/journal': 'writable',
    'write /run/world': 'writable',
    'write /world/program': 'denied',
  },
  verifier: {
    ...everywhere,
    ...workspace,
    'write /tmp': 'writable',
    'write /tests': 'denied',
    'write /logs/verifier': 'writable',
  },
}

/** What holds by other means under a provider. */
const goldenOf: Readonly<Record<ProviderName, Readonly<Record<string, string>>>> = {
  local: {},
  // An image's file system is mounted as it is; that no program gains from a set-user bit is held for each process.
  docker: { 'set-user files': 'blocked by no new privileges' },
}

/**
 * Runs the battery in a box of every profile and compares with the golden values; beside it, on the host, harmless
 * reads and loopback connections that must succeed, so that no probe passes for want of a target. It is `exodesk doctor`.
 *
 * @param where.boxesDir `DATA/boxes`; a folder is made in it and removed again.
 * @throws KernelError `unavailable` where a box cannot be had at all.
 */
export async function probeBoxes(provider: SandboxProvider, where: { boxesDir: string }): Promise<ProbeResult[]> {
  const workDir = await mkdtemp(join(where.boxesDir, 'probe-'))
  await chmod(workDir, 0o755)
  const canary = `canary-${randomBytes(8).toString('hex')}`
  const canaryFile = join(workDir, 'canary.txt')
  await writeFile(canaryFile, canary)
  const canaryFd = openSync(canaryFile, 'r')
  process.env.EXODESK_PROBE_CANARY = canary
  const abstractName = `exodesk-probe-${canary}`
  const servers = [createServer(hangUp), createServer(hangUp)] as const
  try {
    const loopbackPort = await listen(servers[0], { host: '127.0.0.1', port: 0 })
    await listen(servers[1], { path: `\0${abstractName}` })
    const home = homedir()
    const hostFiles = [
      ...[canaryFile, dirname(where.boxesDir), '/var/run/docker.sock', '/run/docker.sock', '/sys/kernel/mm'],
      // An image has files of its own by these names.
      ...(provider.name === 'local' ? ['/sys', '/etc/shadow'] : []),
    ]
    if (provider.name === 'local' && home !== '/' && home !== '/tmp') hostFiles.push(home)
    const results = await controls({ loopbackPort, abstractName, canary, canaryFile })
    for (const profile of Object.keys(goldenProbes) as ProfileName[]) {
      const golden = { ...goldenProbes[profile], ...goldenOf[provider.name] }
      const { limits } = profiles[profile]
      const saw = await runBattery(provider, profile, workDir, {
        nonce: randomBytes(16).toString('hex'),
        loopbackPort,
        abstractName,
        canary,
        hostFiles,
        writePlaces: Object.keys(golden).flatMap((probe) => /^write (\/.*)$/.exec(probe)?.[1] ?? []),
        forks: limits.pids + 16,
        openFiles: limits.nofile + 16,
      })
      for (const probe of new Set([...Object.keys(golden), ...Object.keys(saw)])) {
        const expected = golden[probe] ?? 'no such probe'
        results.push({ profile, probe, holds: saw[probe] === expected, expected, saw: saw[probe] ?? 'nothing' })
      }
    }
    return results
  } finally {
    for (const server of servers) server.close()
    delete process.env.EXODESK_PROBE_CANARY
    closeSync(canaryFd)
    await rm(workDir, { recursive: true, force: true })
  }
}

async function runBattery(
  provider: SandboxProvider,
  profile: ProfileName,
  workDir: string,
  input: BatteryInput,
): Promise<Record<string, string>> {
  const mounts: BoxMounts = {}
  for (const { role } of profiles[profile].places) {
    const folder = join(workDir, profile, role)
    await mkdir(folder, { recursive: true, mode: 0o755 })
    mounts[role] = folder
  }
  const script = `(${String(battery)})(${JSON.stringify(input)}).then((saw) => {
  process.stdout.write(JSON.stringify(saw), () => process.exit(0))
}, (error) => { console.error(String(error)); process.exit(3) })`
  const output = await provider.run(
    {
      profile,
      label: `probe.${profile}`,
      mounts,
      argv: ['/exodesk/bin/node', '-e', script],
      env: { EXODESK_PROBE_NONCE: input.nonce },
      timeoutMs: 60_000,
    },
    { outputBytes: 256 * 1024 },
  )
  if (output.exitCode !== 0) {
    const reason =
      output.stderr.toString('utf8').trim().slice(0, 500) || JSON.stringify(output.signal ?? output.exitCode)
    throw new KernelError('unavailable', `the probes did not run in a box of profile ${profile}: ${reason}`)
  }
  return JSON.parse(output.stdout.toString('utf8')) as Record<string, string>
}

async function controls(target: {
  loopbackPort: number
  abstractName: string
  canary: string
  canaryFile: string
}): Promise<ProbeResult[]> {
  const row = (probe: string, expected: string, saw: string): ProbeResult => ({
    profile: 'host',
    probe,
    holds: saw === expected,
    expected,
    saw,
  })
  const file = await readFile(target.canaryFile, 'utf8')
  return [
    row('loopback 127.0.0.1', 'open', await dial({ host: '127.0.0.1', port: target.loopbackPort })),
    row('abstract socket', 'open', await dial({ path: `\0${target.abstractName}` })),
    row(
      'environment',
      'has the canary',
      process.env.EXODESK_PROBE_CANARY === target.canary ? 'has the canary' : 'lacks it',
    ),
    row(
      'host files',
      'readable',
      existsSync(target.canaryFile) && file === target.canary ? 'readable' : 'not readable',
    ),
  ]
}

function hangUp(socket: { destroy(): void }): void {
  socket.destroy()
}

function listen(server: Server, at: { host: string; port: number } | { path: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(at, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

function dial(target: { host: string; port: number } | { path: string }): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(target)
    socket.once('connect', () => {
      socket.destroy()
      resolve('open')
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
  })
}
