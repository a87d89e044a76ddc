import type { PriceRow } from '../../../kernel/wire/operator-prices.ts'

const names = { input: 'Input', cachedInput: 'Cache read', cacheWrite: 'Cache write', output: 'Output' } as const
const nanoPerUsd = 1_000_000_000

function text(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim()
}

/** What is wrong with the amounts of a form, in a sentence; null: nothing. */
export function priceProblem(form: FormData): string | null {
  for (const [name, shown] of Object.entries(names)) {
    const given = text(form, name)
    if (given !== '' && !/^\d{1,5}(\.\d{1,9})?$/.test(given))
      return `${shown} takes USD per million tokens such as 3 or 0.25, with a point and no sign, not ${JSON.stringify(given)}.`
  }
  return null
}

export function priceOf(form: FormData): Omit<PriceRow, 'since'> {
  const buckets = Object.keys(names).flatMap((name) => {
    const given = text(form, name)
    return given === '' ? [] : [[name, Number(given)]]
  })
  return { name: text(form, 'name'), baseUrl: text(form, 'baseUrl'), ...Object.fromEntries(buckets) }
}

/** null: no limit. @throws Error with what to type. */
export function usdLimit(given: string): number | null {
  const amount = given.trim()
  if (amount === '') return null
  if (!/^\d{1,7}(\.\d{1,4})?$/.test(amount))
    throw new Error(
      `An amount of USD is a number such as 5 or 0.50, with a point and no sign, not ${JSON.stringify(amount)}.`,
    )
  return Math.round(Number(amount) * nanoPerUsd)
}

/** null: no limit. @throws Error with what to type. */
export function tokenLimit(given: string): number | null {
  const amount = given.trim().replaceAll(/[\s_]/g, '')
  if (amount === '') return null
  if (!/^\d{1,12}$/.test(amount)) throw new Error(`Tokens are a whole number, not ${JSON.stringify(given.trim())}.`)
  return Number(amount)
}

/** As it is typed: `5`, `0.5`; empty: no limit. */
export function usdText(nanoUsd: number | null): string {
  return nanoUsd === null ? '' : String(nanoUsd / nanoPerUsd)
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** `412 MB`: powers of 1000, three digits at most. */
export function bytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toPrecision(2)} ${units[power]}`
}
