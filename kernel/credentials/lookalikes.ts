import { mask } from './masks.ts'

/**
 * What the large providers' keys look like. Conservative: a prefix that they document, and enough that is random behind it.
 * A key of another form that the kernel does not know is not recognised.
 */
const forms: readonly RegExp[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek and more. Two digits at least: `sk-learn-contributors` is a name.
  /(?<![A-Za-z0-9])sk-(?=(?:[A-Za-z_-]*\d){2})[A-Za-z0-9_-]{20,}/g,
  /(?<![A-Za-z0-9])(?:gsk|hf|r8|fw|ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /(?<![A-Za-z0-9])(?:xai|pplx)-[A-Za-z0-9]{40,}/g,
  /(?<![A-Za-z0-9])nvapi-[A-Za-z0-9_-]{40,}/g,
  /(?<![A-Za-z0-9])(?:tgp_v1_|github_pat_)[A-Za-z0-9_-]{30,}/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{20,}/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,20000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g,
]

/** The text with what looks like a provider's key replaced. */
export function redactLookalikes(text: string): string {
  return forms.reduce((result, form) => result.replace(form, mask), text)
}
