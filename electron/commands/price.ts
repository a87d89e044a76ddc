import type { PriceRow } from '../../kernel/wire/operator-prices.ts'
import { BadArguments, type Command, exitCode, parseCommand } from './command.ts'
import { openDesk } from './desk.ts'
import { inert, say, sayJson, table } from './text.ts'

const options = {
  'base-url': { type: 'string' },
  input: { type: 'string' },
  cached: { type: 'string' },
  'cache-write': { type: 'string' },
  output: { type: 'string' },
} as const

export const price: Command = {
  synopsis: '[MODEL --base-url URL --input USD --output USD [--cached USD] [--cache-write USD]]',
  summary: 'show the prices that you have set, or set that of a model; USD per million tokens',
  notes: [
    'A price that is set comes before every list, for this model at this address alone, and holds for calls to come.',
    'A budget in USD needs one where no list has it; for a model of your own machine, --input 0 --output 0.',
    '--cached is for input that the provider had at hand, --cache-write for input that it keeps: left out, a call that reports such has no known cost.',
  ],
  async run(args) {
    const { values, positionals, dataDir, json } = parseCommand(args, options, ['MODEL?'])
    const wanted = wantedPrice(positionals[0], values)
    const { desk, close } = await openDesk(dataDir, { proceed: false })
    try {
      if (wanted !== null) await desk.prices.set(wanted)
      const rows = await desk.prices.list()
      if (json) for (const row of rows) sayJson(row)
      else if (rows.length === 0) say('No price has been set: those of the public list hold.')
      else say(priceTable(rows))
      return exitCode.done
    } finally {
      await close()
    }
  },
}

/** The price that the flags set; null: none, show what there is. @throws BadArguments */
export function wantedPrice(
  name: string | undefined,
  values: { readonly [option: string]: unknown },
): Omit<PriceRow, 'since'> | null {
  const given = Object.keys(options).filter((option) => values[option] !== undefined)
  if (name === undefined && given.length === 0) return null
  if (name === undefined) throw new BadArguments('name the model whose price it is')
  for (const needed of ['base-url', 'input', 'output'])
    if (values[needed] === undefined) throw new BadArguments(`--${needed} is missing: a price needs it`)
  const amount = (option: keyof typeof options) =>
    values[option] === undefined ? undefined : usdPerMillion(`--${option}`, String(values[option]))
  const [cachedInput, cacheWrite] = [amount('cached'), amount('cache-write')]
  return {
    name,
    baseUrl: String(values['base-url']),
    input: usdPerMillion('--input', String(values.input)),
    output: usdPerMillion('--output', String(values.output)),
    ...(cachedInput === undefined ? {} : { cachedInput }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  }
}

function usdPerMillion(option: string, text: string): number {
  if (!/^\d{1,5}(\.\d{1,9})?$/.test(text))
    throw new BadArguments(
      `${option} takes USD per million tokens such as 3 or 0.25 (with a point, and no sign), not ${JSON.stringify(text)}`,
    )
  return Number(text)
}

function priceTable(rows: readonly PriceRow[]): string {
  return table(
    ['model', 'at', 'input', 'cached', 'cache write', 'output', 'since'],
    rows.map((row) => [
      inert(row.name),
      inert(row.baseUrl),
      ...[row.input, row.cachedInput, row.cacheWrite, row.output].map((amount) => amount ?? 'not known'),
      row.since,
    ]),
  )
}
