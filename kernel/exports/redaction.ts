import { homedir } from 'node:os'
import { type RedactionFinding, type RedactionRule, redactionRules } from '../wire/operator-exports.ts'

const shownExamples = 12
/** Distinct texts that are counted apart, of one rule. */
const keptTexts = 2_000
const mark = '[redacted key]'

const email = /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g
const homes = /(?:\/home\/|\/Users\/|[A-Za-z]:(?:\\{1,2}|\/)Users(?:\\{1,2}|\/))[^\s/\\"'`<>|:;,()[\]{}]+/g

export interface Redactor {
  /** @param seq of the event that the text belongs to, for the findings. */
  text(text: string, seq: number): string
  /** Every string in it, names of fields too. */
  value<T>(value: T, seq: number): T
  findings(): RedactionFinding[]
}

/**
 * Takes out of texts what no export is to hold. Keys always; the rest unless it is in `keep`, where it is counted all the
 * same. What a rule finds in `keys` and `lookalikes` is never shown.
 */
export function createRedactor(parts: {
  /** Masks every key that the kernel knows, in each form that it may have. */
  keys: (text: string) => string
  /** Masks what looks like a provider's key. */
  lookalikes: (text: string) => string
  keep: readonly RedactionRule[]
  /** Of the person at this machine. */
  home?: string
}): Redactor {
  const found = new Map<RedactionRule, { count: number; texts: Map<string, { count: number; seq: number }> }>(
    redactionRules.map((rule) => [rule, { count: 0, texts: new Map() }]),
  )
  const own = parts.home ?? homedir()
  // `/` and `/root` are homes of machines, not of persons.
  const ownHome = /^(\/|\/root|)$/.test(own) ? null : new RegExp(`${escaped(own)}(?![A-Za-z0-9._-])`, 'g')

  function note(rule: RedactionRule, text: string, seq: number, count = 1): void {
    const entry = found.get(rule)
    if (entry === undefined) return
    entry.count += count
    const known = entry.texts.get(text)
    if (known !== undefined) known.count += count
    else if (entry.texts.size < keptTexts) entry.texts.set(text, { count, seq })
  }

  function masked(rule: RedactionRule, text: string, seq: number, mask: (text: string) => string): string {
    const result = mask(text)
    if (result !== text) note(rule, `${seq}`, seq, Math.max(1, marks(result) - marks(text)))
    return parts.keep.includes(rule) ? text : result
  }

  function replaced(rule: RedactionRule, text: string, seq: number, form: RegExp, by: string): string {
    const isKept = parts.keep.includes(rule)
    return text.replace(form, (match) => {
      note(rule, match, seq)
      return isKept ? match : by
    })
  }

  const redactor: Redactor = {
    text(text, seq) {
      let result = masked('keys', text, seq, parts.keys)
      result = masked('lookalikes', result, seq, parts.lookalikes)
      if (ownHome !== null) result = replaced('home', result, seq, ownHome, '~')
      result = replaced('home', result, seq, homes, '~')
      return result.includes('@') ? replaced('email', result, seq, email, '[redacted e-mail]') : result
    },
    value(value, seq) {
      return deeply(value, (text) => redactor.text(text, seq))
    },
    findings: () =>
      redactionRules.map((rule) => {
        const { count, texts } = found.get(rule) ?? { count: 0, texts: new Map() }
        const isSecret = rule === 'keys' || rule === 'lookalikes'
        const examples = [...texts]
          .sort(([, a], [, b]) => b.count - a.count)
          .slice(0, shownExamples)
          .map(([text, { count, seq }]) => ({ text: isSecret ? null : text.slice(0, 200), count, seq }))
        return { rule, count, examples }
      }),
  }
  return redactor
}

function deeply<T>(value: T, text: (text: string) => string): T {
  if (typeof value === 'string') return text(value) as T
  if (Array.isArray(value)) return value.map((item) => deeply(item, text)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [text(name), deeply(item, text)])) as T
}

const marks = (text: string) => text.split(mark).length - 1
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
