import { bare, isNode, type Node, nameOf, walk } from './syntax.ts'

type Constant = string | number

/**
 * Values that can be told without running anything: literals, sums and joins of them, and names of `const`. What is pieced
 * together is told as what it comes to.
 */
export class Constants {
  readonly #declared = new Map<string, Node | null>()

  constructor(program: Node) {
    walk(program, (node, ancestors) => {
      if (node.type !== 'VariableDeclarator') return
      const name = nameOf(node.id)
      if (name === null) return
      const isConst = ancestors.at(-1)?.kind === 'const'
      // Two of one name: which is meant is for the engine to know.
      this.#declared.set(name, isConst && isNode(node.init) && !this.#declared.has(name) ? node.init : null)
    })
  }

  /** Null: it cannot be told. */
  of(node: unknown, depth = 0): Constant | null {
    const inner = bare(node)
    if (inner === null || depth > 40) return null
    const of = (child: unknown) => this.of(child, depth + 1)
    switch (inner.type) {
      case 'Literal':
        return typeof inner.value === 'string' || typeof inner.value === 'number' ? inner.value : null
      case 'TemplateLiteral': {
        const parts = (inner.expressions as Node[]).map(of)
        if (parts.some((part) => part === null)) return null
        return quasis(inner).reduce((text, quasi, index) => text + quasi + String(parts[index] ?? ''), '')
      }
      case 'UnaryExpression': {
        const value = of(inner.argument)
        return inner.operator === '-' && typeof value === 'number' ? -value : null
      }
      case 'BinaryExpression':
        return binary(String(inner.operator), of(inner.left), of(inner.right))
      case 'Identifier': {
        const init = this.#declared.get(String(inner.name))
        return init ? of(init) : null
      }
      case 'MemberExpression':
        return of(this.#member(inner, depth))
      case 'CallExpression':
        return this.#call(inner, depth)
      default:
        return null
    }
  }

  /** Elements of an array that is written out, by this or by a constant's name. */
  array(node: unknown, depth = 0): (Constant | null)[] | null {
    const inner = this.#resolved(node)
    if (inner === null || depth > 40) return null
    if (inner.type === 'ArrayExpression')
      return (inner.elements as unknown[]).map((element) => this.of(element, depth + 1))
    if (inner.type !== 'CallExpression') return null
    const callee = bare(inner.callee)
    if (callee?.type !== 'MemberExpression') return null
    const method = this.property(callee)
    const [argument] = inner.arguments as Node[]
    if (method === 'reverse') return this.array(callee.object, depth + 1)?.toReversed() ?? null
    if (method !== 'split') return null
    const [text, by] = [this.of(callee.object, depth + 1), this.of(argument, depth + 1)]
    return typeof text === 'string' && typeof by === 'string' ? text.split(by) : null
  }

  /** Name of the member, where it can be told. */
  property(member: Node, depth = 0): string | null {
    if (member.computed !== true) return nameOf(member.property)
    const value = this.of(member.property, depth)
    return value === null ? null : String(value)
  }

  /** What a name of a constant stands for, through others of its kind; any other node is itself. */
  resolved(node: unknown, depth = 0): Node | null {
    const inner = bare(node)
    if (inner?.type !== 'Identifier' || depth > 8) return inner
    const init = this.#declared.get(String(inner.name))
    return init ? this.resolved(init, depth + 1) : inner
  }

  #resolved(node: unknown): Node | null {
    const found = this.resolved(node)
    return found?.type === 'Identifier' ? null : found
  }

  #member(member: Node, depth: number): Node | null {
    const object = this.#resolved(member.object)
    const name = this.property(member, depth + 1)
    if (object === null || name === null) return null
    if (object.type === 'ArrayExpression') return (object.elements as Node[])[Number(name)] ?? null
    if (object.type !== 'ObjectExpression') return null
    const found = (object.properties as Node[]).find(
      (property) => property.type === 'Property' && propertyName(property, this) === name,
    )
    return isNode(found?.value) ? found.value : null
  }

  #call(call: Node, depth: number): Constant | null {
    const callee = bare(call.callee)
    const args = call.arguments as Node[]
    if (nameOf(callee) === 'atob') return decoded(this.of(args[0], depth + 1), 'base64')
    if (callee?.type !== 'MemberExpression') return null
    const method = this.property(callee, depth + 1)
    if (method === 'fromCharCode' || method === 'fromCodePoint') {
      const codes = args.flatMap((arg) =>
        arg.type === 'SpreadElement' ? (this.array(arg.argument, depth + 1) ?? [null]) : [this.of(arg, depth + 1)],
      )
      const isCode = (code: unknown): code is number =>
        Number.isInteger(code) && Number(code) >= 0 && Number(code) <= 0x10ffff
      return codes.every(isCode) ? String.fromCodePoint(...codes) : null
    }
    if (method === 'join') {
      const [parts, by] = [this.array(callee.object, depth + 1), args.length === 0 ? ',' : this.of(args[0], depth + 1)]
      return parts === null || by === null || parts.includes(null) ? null : parts.join(String(by))
    }
    if (method === 'toString') {
      const source = bare(callee.object)
      const from = bare(source?.callee)
      if (source?.type !== 'CallExpression' || from?.type !== 'MemberExpression') return null
      if (nameOf(from.object) !== 'Buffer' || this.property(from, depth + 1) !== 'from') return null
      const [text, encoding] = (source.arguments as Node[]).map((arg) => this.of(arg, depth + 1))
      return encoding === 'base64' || encoding === 'hex' ? decoded(text ?? null, encoding) : null
    }
    const text = this.of(callee.object, depth + 1)
    const [first, second] = args.map((arg) => this.of(arg, depth + 1))
    if (typeof text !== 'string') return null
    if (method === 'concat')
      return args.some((_, n) => n > 1) ? null : text + String(first ?? '') + String(second ?? '')
    if ((method === 'replace' || method === 'replaceAll') && typeof first === 'string' && typeof second === 'string')
      return text.replaceAll(first, second)
    if ((method === 'slice' || method === 'substring' || method === 'substr') && args.length > 0) {
      if (typeof first !== 'number' || (args.length > 1 && typeof second !== 'number')) return null
      return text[method](first, second === undefined ? undefined : Number(second))
    }
    if (method === 'repeat') return typeof first === 'number' && first >= 0 && first < 1_000 ? text.repeat(first) : null
    if (method === 'at' || method === 'charAt') return typeof first === 'number' ? (text.at(first) ?? null) : null
    if (method === 'toLowerCase') return text.toLowerCase()
    if (method === 'toUpperCase') return text.toUpperCase()
    return method === 'trim' ? text.trim() : null
  }
}

export function propertyName(property: Node, constants: Constants): string | null {
  if (property.computed !== true && nameOf(property.key) !== null) return nameOf(property.key)
  const key = constants.of(property.key)
  return key === null ? null : String(key)
}

/** Texts between the holes of a template. */
export function quasis(template: Node): string[] {
  return (template.quasis as { value: { cooked: string | null; raw: string } }[]).map(
    ({ value }) => value.cooked ?? value.raw,
  )
}

function binary(operator: string, left: Constant | null, right: Constant | null): Constant | null {
  if (left === null || right === null) return null
  if (operator === '+' && (typeof left === 'string' || typeof right === 'string')) return `${left}${right}`
  if (typeof left !== 'number' || typeof right !== 'number') return null
  const value = { '+': left + right, '-': left - right, '*': left * right, '/': left / right, '**': left ** right }
  const shifted = { '<<': left << right, '>>': left >> right, '%': left % right }
  return { ...value, ...shifted }[operator] ?? null
}

function decoded(text: Constant | null, encoding: 'base64' | 'hex'): string | null {
  return typeof text === 'string' ? Buffer.from(text, encoding).toString('latin1') : null
}
