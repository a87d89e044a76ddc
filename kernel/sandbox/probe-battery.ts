/** What the battery is told; all of it is made up for one run. */
export interface BatteryInput {
  /** Must be in the environment too: the battery runs in a box that was started for it, and nowhere else. */
  nonce: string
  loopbackPort: number
  abstractName: string
  canary: string
  hostFiles: string[]
  writePlaces: string[]
  forks: number
  openFiles: number
}

/**
 * Tries, from inside a box, what the box must prevent, and returns what it saw by probe. It is sent into the box as
 * source text (`String(battery)`), so it uses nothing from outside itself. It dials loopback, and reserved addresses that
 * lead nowhere; the latter only where there is no way out at all.
 */
export async function battery(input: BatteryInput): Promise<Record<string, string>> {
  const fs = process.getBuiltinModule('node:fs')
  const net = process.getBuiltinModule('node:net')
  const os = process.getBuiltinModule('node:os')
  const { lookup } = process.getBuiltinModule('node:dns')
  const { spawn, spawnSync } = process.getBuiltinModule('node:child_process')
  if (input.nonce === '' || process.env.EXODESK_PROBE_NONCE !== input.nonce) {
    throw new Error('refused: the probes run only in a box that was started for them')
  }
  const saw: Record<string, string> = {}
  const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)
  const textOf = (file: string): string => {
    try {
      return fs.readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
  const closedCodes = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EAI_AGAIN']
  closedCodes.push('ENOTFOUND')
  const outcome = (code: string): string => (closedCodes.includes(code) ? 'closed' : code)
  const dial = (target: { host: string; port: number } | { path: string }): Promise<string> =>
    new Promise((resolve) => {
      const socket = net.connect(target)
      const timer = setTimeout(() => resolve('no answer'), 3000)
      socket.once('connect', () => resolve('open'))
      socket.once('error', (error) => resolve(outcome(codeOf(error))))
      socket.once('close', () => clearTimeout(timer))
    }).then((result) => String(result))

  const ids = new Set([process.getuid?.(), process.geteuid?.(), process.getgid?.(), ...(process.getgroups?.() ?? [])])
  saw['user and groups'] = [...ids].join(' ')
  const status = textOf('/proc/self/status')
  const field = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? 'unknown'
  const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter((name) => !/^0+$/.test(field(name)))
  saw.capabilities = capabilities.join(' ') || 'none'
  saw['no new privileges'] = field('NoNewPrivs') === '1' ? 'set' : 'not set'
  saw['system-call filter'] = field('Seccomp') === '2' ? 'on' : 'off'
  const mounts = textOf('/proc/self/mounts').split('\n').filter(Boolean)
  const setuid = mounts.filter((line) => !(line.split(' ')[3] ?? '').split(',').includes('nosuid'))
  const isBlocked = saw['no new privileges'] === 'set'
  saw['set-user files'] =
    setuid.length === 0
      ? 'ignored'
      : isBlocked
        ? 'blocked by no new privileges'
        : setuid.map((line) => line.split(' ')[1]).join(' ')
  saw['host name'] = os.hostname()
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  saw['processes in sight'] = pids.length <= 12 ? 'own' : `${pids.length}`

  saw['network devices'] = textOf('/proc/net/dev')
    .split('\n')
    .flatMap((line) => /^\s*(\S+):/.exec(line)?.[1] ?? [])
    .join(' ')
  saw['loopback 127.0.0.1'] = await dial({ host: '127.0.0.1', port: input.loopbackPort })
  saw['loopback ::1'] = await dial({ host: '::1', port: input.loopbackPort })
  saw['abstract socket'] = await dial({ path: `\0${input.abstractName}` })
  if (saw['network devices'] === 'lo') {
    saw['unroutable 192.0.2.1'] = await dial({ host: '192.0.2.1', port: 80 })
    saw['metadata 169.254.169.254'] = await dial({ host: '169.254.169.254', port: 80 })
  }
  const resolve = (name: string): Promise<string> =>
    new Promise((done) => lookup(name, (error) => done(error === null ? 'resolved' : outcome(codeOf(error)))))
  saw['name service'] = await resolve('exodesk-probe.invalid')
  saw['name service, localhost'] = await resolve('localhost')

  const environments = [JSON.stringify(process.env), ...pids.map((pid) => textOf(`/proc/${pid}/environ`))]
  saw.environment = environments.some((text) => text.includes(input.canary)) ? 'leaks' : 'clean'
  const open = fs.readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${name}`)
    } catch {
      return []
    }
  })
  const foreign = open.filter((target) => target.startsWith('/') && !/^\/(dev\/null|proc\/\d+\/fd)$/.test(target))
  saw.descriptors = foreign.join(' ') || 'own'
  saw['host files'] = input.hostFiles.filter((path) => fs.existsSync(path)).join(' ') || 'absent'

  const deniedCodes = ['EROFS', 'EACCES', 'EPERM']
  const write = (file: string, isNew: boolean): string => {
    try {
      fs.writeFileSync(file, 'probe', { flag: isNew ? 'wx' : 'r+' })
      if (isNew) fs.unlinkSync(file)
      return 'writable'
    } catch (error) {
      return deniedCodes.includes(codeOf(error)) ? 'denied' : codeOf(error)
    }
  }
  for (const place of input.writePlaces)
    saw[`write ${place}`] = write(`${place === '/' ? '' : place}/.exodesk-probe`, true)
  saw['write kernel settings'] = write('/proc/sys/kernel/hostname', false)

  const attempt = (command: string, ...parameters: string[]): string => {
    const result = spawnSync(command, parameters, { encoding: 'utf8', timeout: 20_000 })
    // A missing program proves nothing.
    if (result.error !== undefined) return codeOf(result.error)
    return result.status === 0 ? 'allowed' : 'denied'
  }
  saw['run a program'] = attempt('/bin/true')
  saw['new user namespace'] = attempt('/usr/bin/unshare', '--user', '/bin/true')
  saw['new mount namespace'] = attempt('/usr/bin/unshare', '--mount', '/bin/true')
  saw['become root'] = attempt('/usr/bin/setpriv', '--reuid', '0', '/bin/true')

  const files: number[] = []
  try {
    while (files.length < input.openFiles) files.push(fs.openSync('/dev/null', 'r'))
    saw['open files'] = 'unlimited'
  } catch (error) {
    saw['open files'] = codeOf(error) === 'EMFILE' ? 'limited' : codeOf(error)
  }
  for (const file of files) fs.closeSync(file)
  // Children that wait on a pipe: cheap, and gone with the box. The shell ends with an error at the first fork refused.
  const forkMany = (count: number): Promise<number | null> =>
    new Promise((done) => {
      const loop = `i=0; while [ $i -lt ${count} ]; do read x <&3 & i=$((i+1)); done`
      const shell = spawn('/bin/sh', ['-c', loop], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
      shell.once('exit', (code) => done(code))
      shell.once('error', () => done(null))
    })
  const canFork = (await forkMany(3)) === 0
  const many = await forkMany(input.forks)
  saw.processes = !canFork || many === null ? 'unclear' : many === 0 ? 'unlimited' : 'limited'
  return saw
}
