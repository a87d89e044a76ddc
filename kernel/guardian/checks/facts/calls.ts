import type { Constants } from './constants.ts'
import { propertyName } from './constants.ts'
import { type CallFact, modelCall } from './file-facts.ts'
import { bare, type Node, nameOf, type Syntax, walk } from './syntax.ts'

/** These call what they are given, mostly more than once or again. */
const takers = /^(?:map|flatMap|forEach|filter|reduce|some|every|find|from|then|catch|finally)$/

/** Calls of functions by their names, and of the model; a function is where its name is declared. */
export function callsIn({ program, lineAt }: Syntax, constants: Constants, path: string): CallFact[] {
  const calls: CallFact[] = []
  walk(program, (node, ancestors) => {
    if (node.type !== 'CallExpression') return
    const callee = bare(node.callee)
    const line = lineAt(node.start)
    const add = (of: string | null, more = 0) => {
      if (of !== null) calls.push({ ...placeOf(ancestors, constants, path), of, line })
      if (of !== null && more > 0) (calls.at(-1) as CallFact).loops += more
    }
    add(nameOf(node.callee))
    const args = node.arguments as Node[]
    if (args.some((one) => constants.of(one) === modelCall)) add(modelCall)
    if (callee?.type === 'MemberExpression' && takers.test(constants.property(callee) ?? ''))
      for (const one of args) add(nameOf(one), 1)
  })
  return calls
}

/** The function around it that has a name, and the loops between. */
function placeOf(ancestors: readonly Node[], constants: Constants, path: string): { in: string; loops: number } {
  let loops = 0
  for (const [index, node] of [...ancestors.entries()].reverse()) {
    const parent = ancestors[index - 1]
    if (/^(?:While|For|DoWhile|ForOf|ForIn)Statement$/.test(node.type)) loops += 1
    if (node.type === 'CatchClause') loops += 1
    if (node.type === 'CallExpression') {
      const callee = bare(node.callee)
      if (
        callee?.type === 'MemberExpression' &&
        takers.test(constants.property(callee) ?? '') &&
        index < ancestors.length - 1
      )
        if (/Function/.test(ancestors[index + 1]?.type ?? '')) loops += 1
    }
    if (!/Function/.test(node.type)) continue
    const name =
      nameOf(node.id) ??
      (parent?.type === 'VariableDeclarator' ? nameOf(parent.id) : null) ??
      (/Property|MethodDefinition/.test(parent?.type ?? '')
        ? `${path} ${propertyName(parent as Node, constants)}`
        : null)
    if (name !== null) return { in: name, loops }
  }
  return { in: `${path} (loaded)`, loops }
}
