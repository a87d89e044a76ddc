/** Where keys live: named variables of the environment that the kernel was started in. Nothing lists, copies or shows them. */
export interface Keys {
  /** The key in this variable; null where it is not set or empty. It is masked from then on. */
  get(variable: string): string | null
}

/** Every key that the kernel knows, so that it can be told wherever it turns up. Nothing lists or shows them. */
export interface Masks {
  /** From now on this key is masked. */
  add(key: string): void
  /** The text with every known key replaced, also where it stands in base64, in hex, URL-encoded or as JSON. */
  redact(text: string): string
  /** How many characters at the end of the text may be the beginning of such a key, in any of these forms. */
  keyStart(text: string): number
}

/**
 * What seals the vault's own key: the operating system's keychain, or a passphrase. An adapter, so that the vault knows
 * neither; a host without one keeps no keys at rest.
 */
export interface Sealer {
  readonly name: 'keychain' | 'passphrase'
  /** Why keys cannot be sealed or opened now (no keychain, plain-text backend, no passphrase yet), and what to do; null: they can. */
  problem(): Promise<string | null>
  /** @throws KernelError `unavailable` with the reason; nothing is written then. */
  seal(plain: Buffer): Promise<Buffer>
  /** @throws KernelError `forbidden` (wrong passphrase, another machine's vault). The sealed bytes stay as they are. */
  open(sealed: Buffer): Promise<Buffer>
  /** Of a passphrase: takes it for the next `seal` or `open`. @throws KernelError `invalid` (too short). */
  give?(passphrase: string): void
}

/** A sealed key as the operator sees it: never the key, nor a part of it. */
export interface CredentialRow {
  name: string
  /** Counts from 1; sealing anew under the same name raises it. */
  version: number
  /** The one origin (scheme, host, port) that it is sent to. */
  origin: string
  sealer: Sealer['name']
  sealedAt: number
}

export interface VaultStatus {
  /** `empty`: no key was ever sealed. `locked`: a passphrase opens it. `unusable`: `problem` says why and what to do. */
  state: 'empty' | 'open' | 'locked' | 'unusable'
  /** What seals it, or would; null: nothing can here. */
  sealer: Sealer['name'] | null
  problem: string | null
  /** Whether `unlock` is what is missing: to open it, or (`empty`) to choose the passphrase of a new one. */
  wantsPassphrase: boolean
}

/** DATA/credentials.json: each key AES-256-GCM with a fresh nonce and its name, version and origin as additional data. */
export interface Vault {
  status(): Promise<VaultStatus>
  /** Why it cannot be used now; null: it can. A vault that cannot be opened is never written over. */
  problem(): Promise<string | null>
  list(): Promise<CredentialRow[]>
  /**
   * Opens it, or sets the passphrase of a new one.
   * @throws KernelError `forbidden` (wrong passphrase), `invalid` (too short; no passphrase seals this), `unavailable`.
   */
  unlock(passphrase: string): Promise<void>
  /** Durable when it resolves. @throws KernelError `invalid` (no key, bad name or origin), `forbidden`, `unavailable`. */
  put(name: string, key: string, origin: string): Promise<CredentialRow>
  /** Needs no passphrase. @throws KernelError `not-found`, `unavailable`. */
  remove(name: string): Promise<void>
  /**
   * The key, for one request to `baseUrl`; masked by `redact` from then on.
   * @throws KernelError `not-found`, `forbidden` (another origin), `unavailable` (locked: says how to unlock).
   */
  take(name: string, baseUrl: string): Promise<string>
  /** That there is such a key for that origin, locked or not. @throws KernelError `not-found`, `forbidden`, `unavailable`. */
  require(name: string, baseUrl: string): Promise<void>
  /** Forgets what it holds open. */
  close(): void
}
