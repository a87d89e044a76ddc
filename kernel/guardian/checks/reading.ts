import { z } from 'zod'
import type { RunOutput, SandboxProvider, TreeFile } from '../../sandbox/sandbox.ts'
import { requestSchemas } from '../../wire/executor-schema.ts'
import { capabilityKinds, knobUnits } from '../../wire/operator-checks.ts'
import type { FactsRequest, FileFacts } from './facts/file-facts.ts'

const timeoutMs = 60_000
const outputBytes = 16 * 1024 * 1024
/** Where the check profile mounts the folder `facts`, with the parser beside it. */
const program = '/exodesk/checker/facts/main.ts'

const located = z.strictObject({ what: z.string(), line: z.number() })
const answerSchema: z.ZodType<FileFacts[]> = z.array(
  z.strictObject({
    error: located.nullable(),
    shape: z.string().nullable(),
    capabilities: z.array(located.extend({ kind: z.enum(capabilityKinds) })),
    hiding: z.array(located),
    imports: z.array(z.string()),
    knobs: z.array(
      z.strictObject({
        name: z.string(),
        unit: z.enum(knobUnits),
        value: z.union([z.number(), z.string()]),
        line: z.number(),
        isBound: z.boolean(),
      }),
    ),
    functions: z.array(located),
    uses: z.array(z.string()),
    calls: z.array(z.strictObject({ in: z.string(), of: z.string(), loops: z.number(), line: z.number() })),
  }),
)

/** `at`: the file that the reader was reading when it fell; null: it did not get that far. */
export type Reading = { ok: true; facts: FileFacts[] } | { ok: false; reason: string; at: string | null }

/**
 * Facts of each file, in order. The parser is native code and the text is anybody's: a deeply nested one takes its process
 * down. So it reads in a box, where it can hold up or hurt nothing.
 * @throws KernelError `unavailable` (no box can be had).
 */
export async function readFacts(
  provider: SandboxProvider,
  label: string,
  files: readonly TreeFile[],
  signal: AbortSignal,
): Promise<Reading> {
  const request: FactsRequest = { methods: Object.keys(requestSchemas), files: [...files] }
  const argv = ['/exodesk/bin/node', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', program]
  const output = await provider.run(
    { profile: 'check', label, mounts: {}, argv, cwd: '/', timeoutMs },
    { stdin: JSON.stringify(request), outputBytes, signal },
  )
  return answerOf(output, files.length)
}

function answerOf(output: RunOutput, files: number): Reading {
  const said = output.stderr.toString('utf8')
  const last = [...said.matchAll(/^reading (".*")$/gm)].at(-1)?.[1]
  const at = last === undefined ? null : (JSON.parse(last) as string)
  if (output.timedOut) return { ok: false, reason: `it took more than ${timeoutMs / 1000} s`, at }
  if (output.outOfMemory) return { ok: false, reason: 'it took more than the memory of its box', at }
  if (output.exitCode !== 0) {
    const words = said
      .replaceAll(/^reading .*$/gm, '')
      .trim()
      .slice(-500)
    return {
      ok: false,
      reason: `it ended with ${output.exitCode ?? output.signal}${words === '' ? '' : `: ${words}`}`,
      at,
    }
  }
  try {
    const facts = answerSchema.parse(JSON.parse(output.stdout.toString('utf8')))
    if (facts.length === files) return { ok: true, facts }
    return { ok: false, reason: `it answered for ${facts.length} of ${files} files`, at: null }
  } catch (error) {
    return { ok: false, reason: `its answer cannot be read: ${(error as Error).message.slice(0, 300)}`, at: null }
  }
}
