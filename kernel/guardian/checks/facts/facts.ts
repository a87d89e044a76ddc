import { createHash } from 'node:crypto'
import { callsIn } from './calls.ts'
import { capabilitiesOf } from './capabilities.ts'
import { Constants } from './constants.ts'
import type { FactsRequest, FileFacts } from './file-facts.ts'
import { functionsIn } from './functions.ts'
import { knobsOf } from './knobs.ts'
import { SyntaxFault, shapeText, syntaxOf } from './syntax.ts'
import { isTest } from './tests.ts'

const none: FileFacts = {
  error: null,
  shape: null,
  capabilities: [],
  hiding: [],
  imports: [],
  knobs: [],
  calls: [],
  ...{ functions: [], uses: [] },
}

/** Facts of each file, in order. A pure function of the texts. @param reading is told of each before it is read. */
export function factsOf({ files, methods }: FactsRequest, reading: (path: string) => void = () => {}): FileFacts[] {
  const known = new Set(methods)
  return files.map(({ path, text }) => {
    if (!/\.(?:ts|json)$/.test(path)) return none
    reading(path)
    try {
      return fileFacts(path, text, known)
    } catch (error) {
      if (error instanceof SyntaxFault) return { ...none, error: { what: error.message, line: error.line } }
      if (error instanceof RangeError) return { ...none, error: { what: 'is nested too deeply to be read', line: 1 } }
      throw error
    }
  })
}

function fileFacts(path: string, text: string, methods: ReadonlySet<string>): FileFacts {
  const syntax = syntaxOf(path, text)
  const constants = new Constants(syntax.program)
  const shape = createHash('sha256').update(shapeText(syntax.program)).digest('hex')
  const knobs = knobsOf(syntax, constants)
  // Data reaches for nothing.
  if (path.endsWith('.json')) return { ...none, shape, knobs }
  const calls = callsIn(syntax, constants, path)
  return {
    ...none,
    shape,
    knobs,
    calls,
    ...functionsIn(syntax),
    ...capabilitiesOf(syntax, constants, methods, isTest(path)),
  }
}
