// npm run bench: measures, and prints one table. `--only NAME` one file of this folder, `--size 10k,1m` its histories.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildStoreThread } from '../kernel/testing/store-thread.ts'
import type { Bench, Row } from './row.ts'

const names = ['history', 'wire', 'gateway', 'sandbox', 'replay', 'review'].filter((name) =>
  existsSync(join(import.meta.dirname, `${name}.ts`)),
)
const sizeNames: Readonly<Record<string, number>> = {
  '10k': 10_000,
  '100k': 100_000,
  '1m': 1_000_000,
  '10m': 10_000_000,
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: names },
    size: { type: 'string', default: '10k' },
    folder: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
})
const sizes = values.size.split(',').map((name) => sizeNames[name] ?? fail(`--size is of ${Object.keys(sizeNames)}`))
const unknown = values.only.find((name) => !names.includes(name))
if (unknown !== undefined) fail(`--only ${unknown}: there are ${names.join(', ')}`)

// The threads that ship are built ones.
const removeStoreThread = await buildStoreThread()
let missed = 0
if (!values.json) print(['figure', 'measured', 'ceiling in this run', 'ratio', 'goal', ''])
for (const name of values.only) {
  const { bench } = (await import(`./${name}.ts`)) as { bench: Bench }
  const folder = mkdtempSync(join(values.folder, `exodesk-bench-${name}-`))
  try {
    for await (const row of bench({ sizes, folder })) show(row)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
console.log(missed === 0 ? 'Every goal is met.' : `${missed} missed.`)
removeStoreThread()
process.exitCode = missed === 0 ? 0 : 1

function show(row: Row): void {
  if (row.ok === false) missed += 1
  if (values.json) console.log(JSON.stringify(row))
  else
    print([
      row.figure,
      row.measured,
      row.ceiling,
      row.ratio === null ? '—' : row.ratio.toFixed(2),
      row.goal,
      row.ok === null ? '' : row.ok ? 'ok' : 'MISSED',
    ])
}

function print(cells: readonly string[]): void {
  const widths = [58, 20, 44, 6, 18, 6]
  console.log(
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function fail(message: string): never {
  process.stderr.write(`bench: ${message}\n`)
  process.exit(2)
}
