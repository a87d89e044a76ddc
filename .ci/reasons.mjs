// A vitest reporter: appends to test-output/reasons.txt why each test, set-up and process of the run failed, and what passed
// only at a second try, so that `.ci/run` can say so at its end. A set-up's failure is in no JSON report.
import { appendFileSync, mkdirSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

const file = 'test-output/reasons.txt'
const mostLines = 12

export default class Reasons {
  onTestRunEnd(modules, unhandled) {
    const lines = []
    const say = (name, errors, what) => {
      for (const error of errors) lines.push(`${what} ${name}`, ...shorten(error))
    }
    for (const module of modules) {
      say(module.relativeModuleId, module.errors(), 'failed')
      for (const suite of module.children.allSuites())
        say(`${module.relativeModuleId} ${suite.fullName}`, suite.errors(), 'failed')
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result()
        say(`${module.relativeModuleId} ${test.fullName}`, errors ?? [], state === 'failed' ? 'failed' : 'second try')
      }
    }
    say('(outside of every test)', unhandled, 'failed')
    mkdirSync('test-output', { recursive: true })
    if (lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`)
  }
}

function shorten({ message, stack, diff, cause }) {
  const place = stack?.split('\n').find((line) => /^\s+at .*\.test\.tsx?|^\s+at .*\.contract\.ts/.test(line))
  const text = [message, cause?.message, diff, place?.trim()].filter(Boolean).join('\n')
  const lines = stripVTControlCharacters(text).split('\n').slice(0, mostLines)
  return lines.map((line) => `    ${line}`)
}
