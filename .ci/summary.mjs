// Sums vitest's JSON reports: `node .ci/summary.mjs BROKEN_STEPS REPORT…`. Names what was skipped and what failed, then ends
// with the one line that CI reads. A step that broke without a failed test in a report counts as one failure.
import { readFileSync } from 'node:fs'

const [brokenSteps, ...reports] = process.argv.slice(2)
let passed = 0
let failed = Number(brokenSteps)
let skipped = 0
for (const path of reports) {
  const report = read(path)
  if (report === null) {
    console.log(`failed: ${path} is missing: its run ended before it could report`)
    failed += 1
    continue
  }
  const tests = report.testResults.flatMap((file) =>
    file.assertionResults.map((test) => ({ ...test, file: file.name })),
  )
  for (const { status, fullName, file } of tests) {
    if (status === 'passed') passed += 1
    else if (status === 'failed') failed += 1
    else skipped += 1
    if (status !== 'passed') console.log(`${status === 'failed' ? 'failed' : 'skipped'}: ${shorten(file)} ${fullName}`)
  }
  // A file that cannot be loaded, or whose set-up fails, fails without a failed test of its own.
  for (const file of report.testResults) {
    if (file.status !== 'failed' || file.assertionResults.some((test) => test.status === 'failed')) continue
    console.log(`failed: ${shorten(file.name)}: ${file.message.split('\n')[0]}`)
    failed += 1
  }
}
if (passed === 0 && failed === 0) failed = 1
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed === 0 ? 0 : 1

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

function shorten(path) {
  return path.replace(`${process.cwd()}/`, '')
}
