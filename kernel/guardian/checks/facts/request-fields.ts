import type { Constants } from './constants.ts'
import { propertyName } from './constants.ts'
import type { KnobFact } from './file-facts.ts'
import { bare, type Node, type Syntax, walk } from './syntax.ts'

/** Told elsewhere, or what every request is made of. */
const others =
  /^(?:model|input|messages|instructions|tools|effort|reasoning_effort|service_tier|n|best_of|prompt_cache_key)$/
/** By one of these an object is known as what is asked of a model. */
const fields =
  /^(?:prompt_cache_key|tool_choice|parallel_tool_calls|max_output_tokens|max_tokens|max_completion_tokens|max_tool_calls|truncation|(?:top_)?logprobs|web_search_options|previous_response_id)$/

/** What a request asks of a model beyond its content: of each field its value where that is written down, else `set`. */
export function requestFieldsIn({ program, lineAt }: Syntax, constants: Constants): KnobFact[] {
  const found: KnobFact[] = []
  const seen = new Set<Node>()
  const add = (name: string | null, value: unknown, node: Node) => {
    if (name === null || others.test(name) || seen.has(node)) return
    seen.add(node)
    const told = constants.of(value) ?? literal(value)
    const line = lineAt(node.start)
    found.push({ name: `request.${name}`, unit: 'money', value: String(told ?? 'set'), line, isBound: true })
  }
  walk(program, (node) => {
    if (node.type === 'ObjectExpression' && isRequest(node, constants))
      for (const field of fieldsOf(node)) add(propertyName(field, constants), field.value, field)
    const target = node.type === 'AssignmentExpression' ? bare(node.left) : null
    const name = target?.type === 'MemberExpression' ? constants.property(target) : null
    if (name !== null && fields.test(name)) add(name, node.right, node)
  })
  return found
}

function isRequest(node: Node, constants: Constants): boolean {
  return (node.properties as Node[]).some(
    (one) => one.type === 'Property' && fields.test(propertyName(one, constants) ?? ''),
  )
}

/** With those that a condition brings along. */
function fieldsOf(node: Node): Node[] {
  return (node.properties as Node[]).flatMap((one) => {
    if (one.type === 'Property') return [one]
    const spread = bare(one.argument)
    const sides =
      spread?.type === 'ConditionalExpression' ? [spread.consequent, spread.alternate] : [spread?.right ?? spread]
    return sides.flatMap((side) => (bare(side)?.type === 'ObjectExpression' ? fieldsOf(bare(side) as Node) : []))
  })
}

function literal(value: unknown): string | null {
  const inner = bare(value)
  if (inner?.type === 'Literal') return String(inner.value)
  return inner?.type === 'ArrayExpression' ? `${(inner.elements as unknown[]).length} of a list` : null
}
