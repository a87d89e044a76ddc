/** Where keys live: named variables of the environment that the kernel was started in. Nothing lists, copies or shows them. */
export interface Keys {
  /** The key in this variable; null where it is not set or empty. A key that was given out is masked by `redact` from then on. */
  get(variable: string): string | null
  /** The text with every key that was given out replaced, also where it stands in base64 or URL-encoded. */
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

/** DATA/credentials.json: each key AES-256-GCM with a fresh nonce and its name, version and origin as additional data. */
export interface Vault {
  /** Why it cannot be used now; null: it can. A vault that cannot be opened is never written over. */
  problem(): Promise<string | null>
  list(): Promise<CredentialRow[]>
  /** Durable when it resolves. @throws KernelError `invalid` (too short, bad name or origin), `unavailable`. */
  put(name: string, key: string, origin: string): Promise<CredentialRow>
  /** @throws KernelError `not-found`. */
  remove(name: string): Promise<void>
  /**
   * The key, for one request to `baseUrl`; masked by `redact` from then on.
   * @throws KernelError `not-found`, `forbidden` (another origin), `unavailable` (locked: says how to unlock).
   */
  take(name: string, baseUrl: string): Promise<string>
}
