import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import { decrypt, encrypt, keyBytes } from './cipher.ts'
import type { CredentialRow, Masks, Sealer, Vault, VaultStatus } from './credentials.ts'
import { leastKeyLength } from './environment.ts'
import { readVaultFile, type VaultFile, writeVaultFile } from './vault-file.ts'

export interface VaultOptions {
  /** Its file; made at the first key. The caller holds the data directory's lock: there is no second writer. */
  file: string
  /** In order of preference: the first that can serves a new vault; an old one needs the one that sealed it. */
  sealers: readonly Sealer[]
  masks: Masks
  clock: Clock
}

type Row = VaultFile['credentials'][number]

export function createVault({ file, sealers, masks, clock }: VaultOptions): Vault {
  /** The vault's own key, while it is open. Zeroed by `close`. */
  let vaultKey: Buffer | null = null
  /** One change at a time. */
  let queue: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }

  function sealerOf(content: VaultFile): Sealer {
    const sealer = sealers.find(({ name }) => name === content.sealer)
    if (sealer !== undefined) return sealer
    throw new KernelError('unavailable', `These keys were sealed by a ${content.sealer}: ${elsewhere[content.sealer]}.`)
  }

  /** What a new vault is sealed by, or why by nothing. */
  async function firstSealer(): Promise<{ sealer: Sealer | null; problem: string | null }> {
    const problems: string[] = []
    for (const sealer of sealers) {
      const problem = await sealer.problem()
      if (problem === null) return { sealer, problem: null }
      // A passphrase only waits to be chosen.
      if (sealer.give !== undefined) return { sealer, problem: [...problems, choosePassphrase].join(' ') }
      problems.push(problem)
    }
    return { sealer: null, problem: problems.join(' ') || nothingSeals }
  }

  async function open(content: VaultFile): Promise<Buffer> {
    if (vaultKey !== null) return vaultKey
    const key = await sealerOf(content).open(Buffer.from(content.sealed, 'base64'))
    if (key.length !== keyBytes) throw new KernelError('unavailable', `${file} is damaged: its key is none.`)
    vaultKey = key
    // From now on each of them is masked wherever it turns up, whether a task uses it or not.
    for (const row of content.credentials) {
      const plain = decrypt(key, row.key, aboutOf(row))
      if (plain !== null) masks.add(plain.toString('utf8'))
      plain?.fill(0)
    }
    return key
  }

  async function create(): Promise<{ key: Buffer; content: VaultFile }> {
    const { sealer, problem } = await firstSealer()
    if (sealer === null || problem !== null) throw new KernelError('unavailable', problem ?? nothingSeals)
    const key = randomBytes(keyBytes)
    const sealed = (await sealer.seal(key)).toString('base64')
    return { key, content: { format: 1, sealer: sealer.name, sealed, credentials: [] } }
  }

  async function status(): Promise<VaultStatus> {
    try {
      const content = readVaultFile(file)
      if (content === null) {
        const { sealer, problem } = await firstSealer()
        const wantsPassphrase = problem !== null && sealer?.give !== undefined
        const state = problem === null || wantsPassphrase ? 'empty' : 'unusable'
        return { state, sealer: sealer?.name ?? null, problem, wantsPassphrase }
      }
      const sealer = sealerOf(content)
      const problem = vaultKey === null ? await sealer.problem() : null
      if (problem === null) return { state: 'open', sealer: sealer.name, problem, wantsPassphrase: false }
      const wantsPassphrase = sealer.give !== undefined
      return { state: wantsPassphrase ? 'locked' : 'unusable', sealer: sealer.name, problem, wantsPassphrase }
    } catch (error) {
      return { state: 'unusable', sealer: null, problem: (error as Error).message, wantsPassphrase: false }
    }
  }

  function find(name: string): { content: VaultFile; row: Row } {
    const content = readVaultFile(file)
    const row = content?.credentials.find((candidate) => candidate.name === name)
    if (content !== null && row !== undefined) return { content, row }
    throw new KernelError('not-found', `There is no key named ${name}: exodesk key add ${name} --for BASE-URL`)
  }

  function wanted(name: string, baseUrl: string): { content: VaultFile; row: Row } {
    const found = find(name)
    const origin = originOf(baseUrl)
    if (found.row.origin === origin) return found
    throw new KernelError('forbidden', `The key ${name} is for ${found.row.origin} and is not sent to ${origin}.`)
  }

  return {
    status,
    problem: async () => (await status()).problem,
    async list() {
      const content = readVaultFile(file)
      return content?.credentials.map((row) => shown(row, content.sealer)) ?? []
    },
    unlock: (passphrase) =>
      inTurn(async () => {
        const content = readVaultFile(file)
        const sealer = content === null ? (await firstSealer()).sealer : sealerOf(content)
        if (sealer?.give === undefined)
          throw new KernelError('invalid', `No passphrase is needed: keys are sealed by the ${sealer?.name ?? 'host'}.`)
        sealer.give(passphrase)
        if (content === null) return
        // Open already: a wrong one is refused all the same, or its owner would take it for the right one.
        if (vaultKey === null) await open(content)
        else (await sealer.open(Buffer.from(content.sealed, 'base64'))).fill(0)
      }),
    put: (name, key, baseUrl) =>
      inTurn(async () => {
        if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
          throw new KernelError('invalid', 'A key is named by up to 64 letters, digits, dots, dashes and underscores.')
        const origin = originOf(baseUrl)
        requireKey(key)
        const old = readVaultFile(file)
        const { key: sealing, content } = old === null ? await create() : { key: await open(old), content: old }
        const version = (content.credentials.find((row) => row.name === name)?.version ?? 0) + 1
        const about = { name, version, origin }
        const plain = Buffer.from(key)
        const row = { ...about, sealedAt: clock.now(), key: encrypt(sealing, plain, aboutOf(about)) }
        plain.fill(0)
        const others = content.credentials.filter((other) => other.name !== name)
        writeVaultFile(file, { ...content, credentials: [...others, row] })
        vaultKey = sealing
        masks.add(key)
        return shown(row, content.sealer)
      }),
    remove: (name) =>
      inTurn(async () => {
        const { content, row: gone } = find(name)
        writeVaultFile(file, { ...content, credentials: content.credentials.filter((row) => row !== gone) })
      }),
    take: (name, baseUrl) =>
      inTurn(async () => {
        const { content, row } = wanted(name, baseUrl)
        const plain = decrypt(await open(content), row.key, aboutOf(row))
        if (plain === null)
          throw new KernelError('forbidden', `The sealed key ${name} was changed on disk: remove it and add it again.`)
        const key = plain.toString('utf8')
        plain.fill(0)
        masks.add(key)
        return key
      }),
    async require(name, baseUrl) {
      wanted(name, baseUrl)
    },
    close() {
      vaultKey?.fill(0)
      vaultKey = null
    },
  }
}

const nothingSeals = 'This host has nothing to seal keys with: name an environment variable that holds the key instead.'
const choosePassphrase = 'Keys are sealed with a passphrase: choose one first.'
const elsewhere = {
  keychain: 'use them in the desktop app, or move credentials.json away and add them again here',
  passphrase: 'give it with exodesk key unlock',
} as const

/** What a sealed key is bound to: moved to another name, version or origin it does not open. */
const aboutOf = ({ name, version, origin }: Pick<Row, 'name' | 'version' | 'origin'>) =>
  `exodesk credential 1\n${name}\n${version}\n${origin}`

function shown({ name, version, origin, sealedAt }: Row, sealer: Sealer['name']): CredentialRow {
  return { name, version, origin, sealer, sealedAt }
}

/** @throws KernelError `invalid`, `forbidden`. */
function originOf(baseUrl: string): string {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    // Not repeated: a key may have been put in its place.
    throw new KernelError('invalid', 'That is not a base URL: give one such as https://api.openai.com/v1')
  const { origin, protocol, hostname, username, password } = new URL(baseUrl)
  if (username !== '' || password !== '')
    throw new KernelError('invalid', 'The base URL holds a user name or password: leave them out.')
  if (protocol === 'http:' && !/^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname))
    throw new KernelError('forbidden', `A key is not sent to ${hostname} over plain http: use https.`)
  return origin
}

/** @throws KernelError `invalid`; the text never holds the key. */
function requireKey(key: string): void {
  if (key.length < leastKeyLength)
    throw new KernelError('invalid', `That is shorter than ${leastKeyLength} characters: that is no key.`)
  if (key.length > 4096 || !/^[\x21-\x7e]+$/.test(key))
    throw new KernelError('invalid', 'A key is one line of at most 4096 printable ASCII characters without blanks.')
}
