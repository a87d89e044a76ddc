import type { Api } from '../items.ts'

type Body = Readonly<Record<string, unknown>>

/** The body without the tools of these names, whichever API it speaks: they are not offered, forced or allowed. */
export function withoutTools(body: Body, names: { has(name: string): boolean }): Body {
  const isOff = (tool: unknown): boolean => {
    const name = toolName(tool)
    return name !== null && names.has(name)
  }
  const { tools: given, tool_choice: choice, ...rest } = body
  if (!Array.isArray(given) || !(given.some(isOff) || choiceNames(choice).some((name) => names.has(name)))) return body
  const tools = given.filter((tool) => !isOff(tool))
  if (tools.length === 0) {
    // Without tools a provider takes neither of the two.
    const { parallel_tool_calls: _, ...bare } = rest
    return bare
  }
  const chosen = choiceWithout(choice, isOff)
  // The fields stay in their order: what is sent is the same bytes but for what is gone.
  return Object.fromEntries(
    Object.entries(body).flatMap(([field, value]) => {
      if (field === 'tools') return [[field, tools]]
      if (field === 'tool_choice') return [[field, chosen]]
      return [[field, value]]
    }),
  )
}

/** An output item with this text in place of its own. */
export function answeredWith(api: Api, item: unknown, text: string): unknown {
  return { ...(item as object), [api === 'chat' ? 'content' : 'output']: text }
}

/** One that is forced is left to the model; where all that were allowed are gone, none is. */
function choiceWithout(choice: unknown, isOff: (tool: unknown) => boolean): unknown {
  if (isOff(choice)) return 'auto'
  const allowed = allowedOf(choice)
  if (allowed === null) return choice
  const left = allowed.filter((tool) => !isOff(tool))
  if (left.length === 0) return 'none'
  const given = choice as { tools?: unknown; allowed_tools?: object }
  return Array.isArray(given.tools)
    ? { ...given, tools: left }
    : { ...given, allowed_tools: { ...given.allowed_tools, tools: left } }
}

function choiceNames(choice: unknown): string[] {
  return [choice, ...(allowedOf(choice) ?? [])].flatMap((tool) => toolName(tool) ?? [])
}

function allowedOf(choice: unknown): unknown[] | null {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return null
  const nested = isObject(choice.allowed_tools) ? choice.allowed_tools.tools : undefined
  const list = choice.tools ?? nested
  return Array.isArray(list) ? list : null
}

/** Of Responses `{ name }`, of Chat `{ function: { name } }` or `{ custom: { name } }`. */
export function toolName(tool: unknown): string | null {
  if (!isObject(tool)) return null
  const named = isObject(tool.function) ? tool.function : isObject(tool.custom) ? tool.custom : tool
  return typeof named.name === 'string' ? named.name : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
