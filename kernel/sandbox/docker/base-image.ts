import { execFile, spawn } from 'node:child_process'
import { createReadStream, existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { KernelError } from '../../errors.ts'
import { drain } from './drain.ts'
import { type Engine, openEngine } from './engine.ts'
import { missing } from './facts.ts'
import { pullImage } from './pack-image.ts'
import { defaultImage } from './provider.ts'

/** Beyond the smallest Debian: what packs' graders and agents may count on. */
const packages = ['python3-minimal', 'procps']

export type BaseImageSource =
  /** From this machine's own distribution, by debootstrap and the mirror that apt uses here. */
  | { kind: 'build' }
  /** A root file system in a tar archive. */
  | { kind: 'tar'; file: string }
  /** From a registry that the engine can reach. */
  | { kind: 'pull'; name: string }

/**
 * Gives the engine the image that boxes begin with. Run by an operator by hand: it is no part of any box.
 * @param say what it does now, a line each.
 * @returns the image's id. @throws KernelError `unavailable` or `invalid`, with what mends it.
 */
export async function makeBaseImage(
  socketPath: string,
  source: BaseImageSource,
  say: (line: string) => void,
  image: string = defaultImage,
): Promise<string> {
  const engine = openEngine(socketPath)
  await engine.call('answer', () => engine.docker.ping())
  if (source.kind === 'pull') {
    say(`pulling ${source.name}`)
    await pullImage(engine, source.name)
    const [repo = image, tag = 'latest'] = image.split(':')
    await engine.call('name an image', (stop) => engine.docker.getImage(source.name).tag({ repo, tag, ...stop }))
  } else if (source.kind === 'tar') {
    if (!existsSync(source.file)) throw new KernelError('invalid', `there is no file ${source.file}`)
    say(`importing ${source.file}`)
    await importTree(engine, createReadStream(source.file), image)
  } else {
    await buildTree(engine, image, say)
  }
  return (await engine.call('look at an image', () => engine.docker.getImage(image).inspect())).Id
}

async function importTree(engine: Engine, tar: Readable, image: string): Promise<void> {
  const [repo, tag] = image.split(':')
  await engine.call(
    'import an image',
    async (stop) => drain(await engine.docker.importImage(tar, { repo, tag, ...stop } as object)),
    'long',
  )
}

async function buildTree(engine: Engine, image: string, say: (line: string) => void): Promise<void> {
  if (!existsSync('/usr/sbin/debootstrap'))
    throw missing('debootstrap is not installed', 'sudo apt-get install -y debootstrap')
  if (process.getuid?.() !== 0)
    throw missing('debootstrap makes files of root', 'sudo exodesk doctor --build-base-image')
  const { mirror, suite } = await ownDistribution()
  const tree = await mkdtemp(join(tmpdir(), 'exodesk-base-'))
  try {
    say(`debootstrap of ${suite}, a few minutes`)
    const options = ['--variant=minbase', `--include=${packages.join(',')}`, suite, tree, mirror]
    await promisify(execFile)('/usr/sbin/debootstrap', options, {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', ...proxies() },
      maxBuffer: 64 * 1024 * 1024,
    }).catch((error: { stdout?: string; message: string }) => {
      const last = (error.stdout ?? '').trim().split('\n').slice(-3).join('; ')
      throw new KernelError('unavailable', `debootstrap failed: ${last || error.message}`, { cause: error })
    })
    say('importing the tree')
    const without = [
      './var/cache/apt/archives/*.deb',
      './var/lib/apt/lists/*',
      './dev/*',
      './proc/*',
      './sys/*',
      './etc/hostname',
    ]
    const tar = spawn('/bin/tar', ['-C', tree, ...without.map((path) => `--exclude=${path}`), '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: '/usr/bin:/bin' },
    })
    await importTree(engine, tar.stdout, image)
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

function proxies(): Record<string, string> {
  const names = ['http_proxy', 'https_proxy', 'no_proxy']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}

/** The mirror and release that apt uses on this machine; a file or a `deb` line of its own configuration. */
async function ownDistribution(): Promise<{ mirror: string; suite: string }> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const suite = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1]
  const folder = '/etc/apt/sources.list.d'
  const names = await readdir(folder).catch(() => [])
  const files = ['/etc/apt/sources.list', ...names.sort().map((name) => join(folder, name))]
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))
  const mirror = suite === undefined ? undefined : mirrorOf(texts.join('\n\n'), suite)
  if (suite === undefined || mirror === undefined)
    throw missing(
      'apt on this machine names no mirror of its own release',
      'exodesk doctor --base-image-tar FILE, with a root file system that you have',
    )
  return { mirror, suite }
}

/** Of both forms that apt reads: one-line entries, and paragraphs of fields. */
export function mirrorOf(sources: string, suite: string): string | undefined {
  for (const paragraph of sources.split(/\n\s*\n/)) {
    const field = (name: string): string[] =>
      new RegExp(`^${name}:[ \\t]*(.*)$`, 'mi').exec(paragraph)?.[1]?.trim().split(/\s+/) ?? []
    if (field('Types').includes('deb') && field('Suites').includes(suite) && field('Enabled')[0] !== 'no') {
      const uri = field('URIs').find((text) => /^(https?|file):/.test(text))
      if (uri !== undefined) return uri
    }
    for (const line of paragraph.split('\n')) {
      const [, uri, release] = /^deb\s+(?:\[[^\]]*\]\s+)?((?:https?|file):\S+)\s+(\S+)\s/.exec(`${line.trim()} `) ?? []
      if (uri !== undefined && release === suite) return uri
    }
  }
  return undefined
}
