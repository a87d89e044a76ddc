import { KernelError } from '../../errors.ts'
import type { RunOutput } from '../../sandbox/sandbox.ts'
import { type Check, type CheckOutcome, fail, pass, unresolved } from './check.ts'

/** Where the check profile mounts the type checker: its folder with `tsc` and the libraries, and the types of Node with what they import. */
const checkerPlaces = {
  compiler: '/exodesk/checker/typescript/lib/tsc',
  types: '/exodesk/checker/node_modules/@types',
} as const

const timeoutMs = 90_000
const outputBytes = 512 * 1024
const diagnosticsShown = 20

/** The kernel's, written where the candidate has no say. `paths` resolves `#wire` to the kernel's own declarations. */
const checkerConfig = {
  compilerOptions: {
    strict: true,
    target: 'ES2023',
    lib: ['ES2023'],
    types: ['node'],
    typeRoots: [checkerPlaces.types],
    module: 'nodenext',
    moduleDetection: 'force',
    noEmit: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    skipLibCheck: true,
    paths: { '#wire': ['/revision/wire.d.ts'] },
  },
  include: ['/revision/**/*.ts'],
}

/** The TypeScript checker, in a box, over the candidate's own bytes. */
export const types: Check = {
  name: 'types',
  description: 'The TypeScript checker, in a box, over the bytes proposed.',
  gates: true,
  thresholds: {},
  rules: { version: 1, checkerConfig },
  async run({ agent, proposal, revision }, { provider, revisions }, signal) {
    const label = `${agent}.${proposal}.types`
    const mounts = { revision: await revisions.materialise(revision) }
    // /tmp is the box's own memory: the candidate's folder is read-only and holds no configuration.
    const script = 'cat >/tmp/tsconfig.json && exec "$0" --project /tmp/tsconfig.json --pretty false'
    const argv = ['sh', '-c', script, checkerPlaces.compiler]
    try {
      const output = await provider.run(
        { profile: 'check', label, mounts, argv, cwd: '/revision', timeoutMs },
        { stdin: JSON.stringify(checkerConfig), outputBytes, signal },
      )
      return judge(output)
    } catch (error) {
      if (error instanceof KernelError && error.code === 'unavailable')
        return unresolved(`the type checker could not be run: ${error.message}. Mend it and propose again`)
      throw error
    }
  },
}

/** `main.ts(3,5): error TS2322: …`, and lines that go on are indented. */
const diagnosticLine = /^(?<path>[^\s(][^(]*)\((?<line>\d+),(?<column>\d+)\): error (?<code>TS\d+): (?<message>.*)$/

function judge(output: RunOutput): CheckOutcome {
  if (output.exitCode === 0) return pass('no type error', { durationMs: Math.round(output.durationMs) })
  const text = output.stdout.toString('utf8')
  if (output.timedOut || output.outOfMemory) {
    const limit = output.timedOut ? `${timeoutMs / 1000} s` : 'the memory of its box'
    return unresolved(`the type checker needed more than ${limit}: simplify the types and propose again`)
  }
  const diagnostics = text.split('\n').flatMap((line) => {
    const groups = diagnosticLine.exec(line)?.groups
    if (groups === undefined) return []
    const { path = '', code = '', message = '' } = groups
    return { path, line: Number(groups.line), column: Number(groups.column), code, message: message.slice(0, 500) }
  })
  const [first] = diagnostics
  // Without a place in a file, it is the checker that is at fault and not what it read.
  if (first === undefined) {
    const said = (text + output.stderr.toString('utf8')).trim().slice(0, 500)
    return unresolved(
      `the type checker ended with ${output.exitCode ?? output.signal} and named no error in the policy: ${said}`,
    )
  }
  const more = diagnostics.length === 1 ? '' : `; and ${diagnostics.length - 1} more`
  return fail(`${first.path}:${first.line} ${first.message} (${first.code})${more}`, {
    errors: diagnostics.length,
    diagnostics: diagnostics.slice(0, diagnosticsShown),
  })
}
