// `npm run test:adversarial`: every case of the threat model, by the ids that tests carry in brackets: `it('[X3] …')`.
// `--from REPORT…` reads vitest's JSON reports instead of running anything (CI has run the tests already). Prints one line
// a case, and ends with 1 where a case failed, was skipped, or has no test at all.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const numbered = (letter, ...numbers) => numbers.map((number) => `${letter}${number}`)
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const required = [
  ...numbered('H', 1, 3, 4, 6, 7, 9, 11),
  ...numbered('A', 1, 2, 4, 6, 7),
  ...numbered('S', 1, 2, 4, 8, 9, 11, 12),
  ...numbered('M', 1, 2, 4, 5, 7, 8, 11),
  ...numbered('X', 1, 2, 3, 4, 5, 6, 8, 11, 12, 14, 16),
  ...numbered('G', 1, 2, 3, 6, 8, 9, 11, 12, 13, 15, 18, 19, 22),
  ...numbered('R', 1, 2, 3, 5, 6, 7, 8, 9),
  ...numbered('U', 1, 2, 3, 5, 7, 8, 10),
  ...numbered('F', ...range(1, 8), ...range(10, 19), ...range(22, 23), ...range(25, 28)),
  ...numbered('C', ...range(1, 31)),
]
const tag = /\[((?:[A-Z]\d+)(?:[, ]+[A-Z]\d+)*)\]/g
const root = join(import.meta.dirname, '..')

const args = process.argv.slice(2)
const reports = args[0] === '--from' ? args.slice(1) : run()
const cases = new Map()
for (const { name, file, status } of reports.flatMap(testsOf)) {
  for (const [, ids] of name.matchAll(tag))
    for (const id of ids.split(/[, ]+/)) {
      const rows = cases.get(id) ?? []
      rows.push({ name: name.replaceAll(tag, '').replace(/\s+/g, ' ').trim(), file, status })
      cases.set(id, rows)
    }
}

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const id of [...new Set([...required, ...cases.keys()])].sort(byId)) {
  for (const { name, file, status } of cases.get(id) ?? []) {
    const word = status === 'passed' ? 'PASS' : status === 'failed' ? 'FAIL' : 'SKIP'
    counts[word === 'PASS' ? 'passed' : word === 'FAIL' ? 'failed' : 'skipped'] += 1
    console.log(`${word} ${id.padEnd(4)} ${name}${word === 'PASS' ? '' : `  (${file})`}`)
  }
}
const missing = required.filter((id) => !cases.has(id))
const unseen = required.filter((id) => cases.has(id) && cases.get(id).every(({ status }) => status !== 'passed'))
for (const id of missing) console.log(`NONE ${id.padEnd(4)} no test carries this id`)
console.log(
  `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped; ${required.length - missing.length - unseen.length} of ${required.length} cases shown`,
)
process.exitCode = counts.failed + missing.length + unseen.length === 0 ? 0 : 1

function byId(a, b) {
  return a[0] === b[0] ? Number(a.slice(1)) - Number(b.slice(1)) : a < b ? -1 : 1
}

function testsOf(report) {
  let parsed
  try {
    parsed = JSON.parse(readFileSync(report, 'utf8'))
  } catch (error) {
    console.log(`FAIL      ${report} cannot be read: ${error.message}`)
    process.exitCode = 1
    return []
  }
  return parsed.testResults.flatMap((file) =>
    file.assertionResults.map(({ fullName, status }) => ({
      name: fullName,
      file: file.name.replace(`${process.cwd()}/`, ''),
      status,
    })),
  )
}

/** Only files that hold a tagged test are loaded, and in them only the tagged tests run. */
function run() {
  const folder = mkdtempSync(join(tmpdir(), 'exodesk-cases-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const files = ['kernel', 'electron', 'renderer', 'executor-seed', 'simulator', 'tasks', 'bench', 'e2e'].flatMap(
    tagged,
  )
  const parts = [
    { name: 'unit', files: files.filter((file) => !file.startsWith('e2e/')), config: [] },
    {
      name: 'e2e',
      files: files.filter((file) => file.startsWith('e2e/')),
      config: ['--config', 'e2e/vitest.config.ts'],
    },
  ]
  return parts
    .filter(({ files: these }) => these.length > 0)
    .map(({ name, files: these, config }) => {
      const report = join(folder, `${name}.json`)
      const given = ['run', ...config, ...these, '-t', String.raw`\[[A-Z]\d`, '--reporter=dot', '--reporter=json']
      spawnSync('vitest', [...given, `--outputFile.json=${report}`], { cwd: root, stdio: ['ignore', 2, 2] })
      return report
    })
}

function tagged(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((path) => `${folder}/${path}`)
    .filter((path) => /\.(test|contract)\.tsx?$/.test(path) && !path.includes('node_modules'))
    .filter((path) => readFileSync(join(root, path), 'utf8').match(tag) !== null)
    .flatMap((path) => (path.endsWith('.contract.ts') ? usersOf(path) : [path]))
    .filter((path, index, all) => all.indexOf(path) === index)
}

/** A contract's tests run in the files that import it. */
function usersOf(contract) {
  const name = contract.split('/').at(-1)
  return readdirSync(join(root, 'kernel'), { recursive: true })
    .map((path) => `kernel/${path}`)
    .filter((path) => /\.test\.tsx?$/.test(path) && readFileSync(join(root, path), 'utf8').includes(`${name}'`))
}
