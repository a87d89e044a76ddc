import type { Json } from '#wire'
import type { Kernel } from './kernel.ts'
import type { Call } from './model.ts'
import type { AnyTool } from './tool.ts'
import * as registered from './tools/index.ts'
import { WireError } from './wire.ts'

const OUTPUT_BYTES = 4_096

/** The tools that `tools/index.ts` names, always in the same order. */
export const tools: readonly AnyTool[] = Object.values(registered)

const names = tools.map((tool) => tool.name)
const twice = names.find((name, index) => names.indexOf(name) !== index)
if (twice !== undefined) throw new Error(`two tools are named ${twice}: rename one`)

/** Without `propose` where the run allows no proposals. */
export function offered(mayPropose: boolean): readonly AnyTool[] {
  return mayPropose ? tools : tools.filter((tool) => tool.name !== 'propose')
}

/** Runs one call of the model's and gives what to answer it, never more than the tool's cap. A failure is an answer too: `error: …`. */
export async function run(call: Call, among: readonly AnyTool[], kernel: Kernel): Promise<string> {
  const tool = among.find((candidate) => candidate.name === call.name)
  if (tool === undefined)
    return `error: there is no tool ${call.name}; there are ${among.map(({ name }) => name).join(', ')}`
  try {
    const output = await tool.run(checked(call.arguments, tool) as never, kernel)
    return await capped(output === '' ? '(no output)' : output, tool.outputBytes ?? OUTPUT_BYTES, kernel)
  } catch (error) {
    if (error instanceof WireError) {
      if (error.code === 'cancelled') throw error
      return `error: ${error.code}: ${error.message}`
    }
    return `error: ${error instanceof Error ? error.message : String(error)}`
  }
}

function checked(json: string, tool: AnyTool): { [name: string]: Json } {
  let given: Json
  try {
    given = JSON.parse(json === '' ? '{}' : json)
  } catch {
    throw new Error(`the arguments of ${tool.name} are not JSON: ${json.slice(0, 200)}`)
  }
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new Error(`the arguments of ${tool.name} must be an object`)
  // Some models say null for what they leave out.
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const missing = tool.required.find((name) => !Object.hasOwn(args, name))
  if (missing !== undefined)
    throw new Error(`${tool.name} needs ${missing} (${tool.properties[missing]?.type ?? 'see its description'})`)
  for (const [name, value] of Object.entries(args)) {
    const property = tool.properties[name]
    if (property === undefined)
      throw new Error(`${tool.name} has no argument ${name}; it takes ${Object.keys(tool.properties).join(', ')}`)
    const fits =
      property.type === 'integer'
        ? Number.isInteger(value)
        : property.type === 'array'
          ? Array.isArray(value)
          : typeof value === property.type
    if (!fits) throw new Error(`${name} of ${tool.name} must be of type ${property.type}`)
  }
  return args
}

/** Cuts the middle out of what is too long, and leaves a handle to all of it. */
async function capped(output: string, maxBytes: number, kernel: Kernel): Promise<string> {
  const bytes = Buffer.from(output, 'utf8')
  if (bytes.length <= maxBytes) return output
  const { hash } = await kernel.call('blob.put', { base64: bytes.toString('base64') })
  const head = boundary(bytes, Math.floor((maxBytes * 2) / 3))
  const tail = boundary(bytes, bytes.length - (maxBytes - head))
  return `${bytes.toString('utf8', 0, head)}\n[${tail - head} bytes cut; read blob:${hash} for all]\n${bytes.toString('utf8', tail)}`
}

/** The nearest place at or before `index` that does not split a character. */
function boundary(bytes: Buffer, index: number): number {
  let at = index
  while (at > 0 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1
  return at
}
