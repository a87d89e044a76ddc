import type { Constants } from './constants.ts'
import { propertyName, quasis } from './constants.ts'
import type { KnobFact } from './file-facts.ts'
import { bare, type Node, type Syntax, walk } from './syntax.ts'

/** `task.steered` and its like. */
const eventKind = /^[a-z]+\.[a-z-]+$/

const errorText = /^error:/

/** Kinds of event that the model is told of, each by what says it; of one that says nothing it is told no more. */
export function noticesIn({ program, lineAt }: Syntax, constants: Constants): KnobFact[] {
  const notices: KnobFact[] = []
  walk(program, (node, ancestors) => {
    // By this beginning of a result the kernel counts a call as failed.
    if (
      errorText.test(node.type === 'TemplateLiteral' ? (quasis(node)[0] ?? '') : String(node.value ?? '')) &&
      !/^TS|Property$/.test(node.type)
    )
      notices.push({
        name: 'tells of a failure',
        unit: 'notice',
        value: 'heeded',
        line: lineAt(node.start),
        isBound: true,
      })
    if (node.type !== 'Property' || ancestors.at(-1)?.type !== 'ObjectExpression') return
    const name = propertyName(node, constants) ?? ''
    const says = bare(node.value)
    if (!eventKind.test(name) || !/^(?:Arrow)?Function/.test(says?.type ?? '') || node.method === true) return
    const value = isSilent(says as Node) ? 'loosened' : 'heeded'
    notices.push({ name: `tells of ${name}`, unit: 'notice', value, line: lineAt(node.start), isBound: true })
  })
  return notices
}

/** Nothing, in any case. */
function isSilent(says: Node): boolean {
  const body = bare(says.body)
  if (body?.type !== 'BlockStatement') return isNothing(body)
  const returns = (body.body as Node[]).filter(({ type }) => type !== 'EmptyStatement')
  return returns.every(({ type, argument }) => type === 'ReturnStatement' && isNothing(argument))
}

function isNothing(node: unknown): boolean {
  const inner = bare(node)
  if (inner === null) return true
  return inner.type === 'Literal' ? inner.value === null || inner.value === '' : inner.name === 'undefined'
}
