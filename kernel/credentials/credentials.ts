/** Where keys live: named variables of the environment that the kernel was started in. Nothing lists, copies or shows them. */
export interface Keys {
  /** The key in this variable; null where it is not set or empty. A key that was given out is masked by `redact` from then on. */
  get(variable: string): string | null
  /** The text with every key that was given out replaced, also where it stands in base64 or URL-encoded. */
  redact(text: string): string
  /** How many characters at the end of the text may be the beginning of such a key, in any of these forms. */
  keyStart(text: string): number
}
