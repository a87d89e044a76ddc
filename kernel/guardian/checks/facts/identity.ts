import type { Constants } from './constants.ts'
import { bare, isNode, type Node, nameOf, walk } from './syntax.ts'

const searches =
  /^(?:includes|startsWith|endsWith|indexOf|match|matchAll|search|localeCompare|test|exec|update|has|get)$/

/**
 * Where a program decides by which task it runs: its instruction, id or title held against something written down. Gives for
 * a node what it decides by; mostly nothing.
 */
export function identityOf(program: Node, constants: Constants): (node: Node) => string[] {
  const aliases = new Map<string, string>()
  walk(program, (node) => {
    if (node.type !== 'VariableDeclarator') return
    const name = nameOf(node.id)
    const of = isNode(node.init) ? partOf(node.init) : null
    if (name !== null && of !== null) aliases.set(name, of)
  })

  /** What of the task's identity a value is, or is made of. */
  function partOf(node: unknown, depth = 0): string | null {
    const inner = bare(node)
    if (inner === null || depth > 8) return null
    if (inner.type === 'Identifier')
      return aliases.get(String(inner.name)) ?? (inner.name === 'instruction' ? 'instruction' : null)
    if (inner.type === 'MemberExpression') {
      const name = constants.property(inner)
      const of = bare(inner.object)
      const holder = of?.type === 'MemberExpression' ? constants.property(of) : nameOf(of)
      if (name === 'instruction') return 'instruction'
      if (name === 'task' && holder === 'task') return 'id'
      return name === 'title' && holder === 'task' ? 'title' : partOf(inner.object, depth + 1)
    }
    if (inner.type === 'CallExpression') {
      const callee = bare(inner.callee)
      const on = callee?.type === 'MemberExpression' ? partOf(callee.object, depth + 1) : null
      return on ?? (inner.arguments as Node[]).map((one) => partOf(one, depth + 1)).find((one) => one !== null) ?? null
    }
    return null
  }

  const isWritten = (node: unknown): boolean => {
    const inner = bare(node)
    return inner !== null && (constants.of(inner) !== null || (inner.type === 'Literal' && inner.regex !== undefined))
  }
  const shown = (node: unknown): string => {
    const inner = bare(node)
    const regex = inner?.type === 'Literal' ? (inner.regex as { pattern: string } | undefined) : undefined
    return String(regex?.pattern ?? constants.of(inner) ?? '').slice(0, 100)
  }

  return (node) => {
    if (node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node.operator))) {
      for (const [one, other] of [
        [node.left, node.right],
        [node.right, node.left],
      ]) {
        const part = partOf(one)
        // Whether there is one at all tells no task from another.
        if (part !== null && isWritten(other) && shown(other) !== '') return [`${part}: ${shown(other)}`]
      }
    }
    if (node.type === 'SwitchStatement') {
      const part = partOf(node.discriminant)
      const cases = (node.cases as Node[]).map((one) => one.test).filter(isWritten)
      if (part !== null) return cases.map((one) => `${part}: ${shown(one)}`)
    }
    if (node.type === 'CallExpression') {
      const callee = bare(node.callee)
      if (callee?.type !== 'MemberExpression' || !searches.test(constants.property(callee) ?? '')) return []
      const [argument] = node.arguments as Node[]
      const [on, of] = [partOf(callee.object), partOf(argument)]
      if (on !== null && isWritten(argument)) return [`${on}: ${shown(argument)}`]
      if (of !== null) return [`${of}: ${shown(callee.object)}`]
    }
    const id = node.type === 'Literal' && typeof node.value === 'string' ? /^T-\d+$/.exec(node.value) : null
    return id === null ? [] : [`id: ${id[0]}`]
  }
}
