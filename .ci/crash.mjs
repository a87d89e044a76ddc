// `npm run test:crash`: every crash test, whole (EXODESK_FULL=1): kills at each failpoint, power losses, and what is tagged [crash]
// elsewhere. `-- --reduced` as CI has it within `npm test`; `-- kernel/history` only files whose path has that in it.
// Prints one line a test, and ends with 1 unless all passed.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const isReduced = process.argv.includes('--reduced')
const env = { ...process.env, ...(isReduced ? {} : { EXODESK_FULL: '1' }) }
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const sources = globSync('{kernel,electron}/**/*.test.ts', { cwd: root }).filter(
  (path) => wanted.length === 0 || wanted.some((word) => path.includes(word)),
)
const whole = sources.filter((path) => path.endsWith('.crash.test.ts'))
const tagged = sources.filter(
  (path) => !whole.includes(path) && readFileSync(join(root, path), 'utf8').includes('[crash]'),
)
const folder = mkdtempSync(join(tmpdir(), 'exodesk-crash-report-'))
const from = performance.now()
const tests = [
  ...(whole.length === 0 ? [] : run('whole', whole, [])),
  ...(tagged.length === 0 ? [] : run('tagged', tagged, ['-t', '\\[crash\\]'])).filter(({ name }) =>
    name.includes('[crash]'),
  ),
]
rmSync(folder, { recursive: true, force: true })

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const { name, file, status } of tests) {
  const word = { passed: 'PASS', failed: 'FAIL' }[status] ?? 'SKIP'
  counts[{ PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }[word]] += 1
  console.log(`${word} ${name}${word === 'PASS' ? '' : `  (${file})`}`)
}
console.log(
  `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${Math.round((performance.now() - from) / 1000)} s (${isReduced ? 'reduced' : 'whole'})`,
)
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1

function run(name, files, more) {
  const report = join(folder, `${name}.json`)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', ...files, ...more, '--maxWorkers=1', '--reporter=json', `--outputFile=${report}`]
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] })
  let results
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults
  } catch {
    return [{ name: `the tests did not run (vitest ended with ${status})`, file: name, status: 'failed' }]
  }
  return results.flatMap(({ name: path, assertionResults, message }) =>
    assertionResults.length === 0
      ? [{ name: `no test of it ran: ${message}`, file: relative(root, path), status: 'failed' }]
      : assertionResults.map(({ fullName, status }) => ({ name: fullName, file: relative(root, path), status })),
  )
}
