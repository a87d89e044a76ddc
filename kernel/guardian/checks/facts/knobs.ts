import type { Knob } from '../../../wire/operator-checks.ts'
import type { Constants } from './constants.ts'
import { propertyName } from './constants.ts'
import type { KnobFact } from './file-facts.ts'
import { heededIn } from './heeded.ts'
import { noticesIn } from './notices.ts'
import { requestFieldsIn } from './request-fields.ts'
import { bare, type Node, nameOf, type Syntax, walk } from './syntax.ts'
import { waysOutIn } from './ways-out.ts'

/** By words of a name; the first that fits. What a step costs comes before how often and how long. */
const units: [unit: Knob['unit'], words: RegExp][] = [
  ['effort', /^(?:effort|reasoning|thinking|verbosity)$/],
  ['tokens', /^(?:tokens?|window)$/],
  ['money', /^(?:usd|cost|costs|price|budget|dollars?|spend|credits?)$/],
  ['retries', /^(?:retry|retries|tries|try|attempts?|again|repeats?)$/],
  ['turns', /^(?:turns?|steps?|rounds?|iterations?|cycles?|passes|calls|idle|actions?)$/],
  ['polling', /^(?:poll|polls|polling|interval|backoff|sleep|delay)$/],
  ['time', /^(?:timeout|timeouts|deadline|ms|millis|seconds|minutes|wait|duration|until|elapsed|expires?|ttl)$/],
  ['notice', /^(?:notices?|notify|warn|warnings?|alerts?|remind|reminders?)$/],
  ['limit', /^(?:max|most|limit|limits|cap|caps|bound|bounds|kept|keep|threshold|bytes|chars|lines|length|shown)$/],
]
const toldLimits = /^(?:max(?:Steps|Ms|OutputTokens)|budget(?:Tokens|NanoUsd))$/
const efforts = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'])

/** Constants that decide how much is spent: by the names at the place where they stand, and where they are used. */
export function knobsOf(syntax: Syntax, constants: Constants): KnobFact[] {
  const { program, lineAt } = syntax
  const uses = usesOf(program, constants)
  const unused = unusedIn(program)
  const knobs: (KnobFact & { variable?: string | null })[] = []
  walk(program, (node, ancestors) => {
    const asked = requestKnob(node, constants)
    if (asked !== null) knobs.push({ ...asked, line: lineAt(node.start), isBound: true })
    const value = constants.of(node)
    if (value === null || node.type === 'Identifier' || node.type === 'MemberExpression') return
    const parent = ancestors.at(-1)
    // A part of a sum is told with the sum.
    if (parent !== undefined && /^(?:Binary|Unary)Expression$/.test(parent.type) && constants.of(parent) !== null)
      return
    const places = placesOf(node, ancestors, constants)
    const declared = ancestors.findLast((one) => one.type === 'VariableDeclarator')
    const variable = nameOf(declared?.id)
    if (variable !== null && isWhole(node, declared)) places.push(...(uses.get(variable) ?? []))
    if (typeof value === 'string' && !efforts.has(value)) return
    const found = unitOf(places.slice(0, 1)) ?? unitOf(places)
    if (found === null || (typeof value === 'string' && found.unit !== 'effort')) return
    const decides = isNamed(value, node, ancestors) || isFactor(value, parent) || isAddend(node, parent, constants)
    const isBound = decides || /^[<>]=?$/.test(String(parent?.operator))
    // Next to nothing is counted with, everywhere; it is a knob where it has a name, or multiplies.
    if (typeof value === 'number' && Math.abs(value) <= 2 && !decides) return
    const name = (places[0] ?? found.name).slice(0, 120)
    knobs.push({
      name,
      unit: found.unit,
      value,
      line: lineAt(node.start),
      isBound,
      variable: isWhole(node, declared) ? variable : null,
    })
  })
  return [
    ...knobs.filter((one) => !unused.has(one.variable ?? '')).map(({ variable: _, ...one }) => one),
    ...heededIn(syntax),
    ...waysOutIn(syntax),
    ...noticesIn(syntax, constants),
    ...requestFieldsIn(syntax, constants),
  ]
}

/** Constants of a file's own that nothing asks for: they hold for nothing. */
function unusedIn(program: Node): ReadonlySet<string> {
  const declared = new Map<string, number>()
  walk(program, (node, ancestors) => {
    const name = node.type === 'VariableDeclarator' ? nameOf(node.id) : null
    const isExported = ancestors.at(-2)?.type === 'ExportNamedDeclaration'
    if (name !== null && !isExported) declared.set(name, -1)
  })
  walk(program, (node, ancestors) => {
    const count = node.type === 'Identifier' ? declared.get(String(node.name)) : undefined
    // `void x` asks for nothing.
    if (count !== undefined && ancestors.at(-1)?.operator !== 'void') declared.set(String(node.name), count + 1)
  })
  return new Set([...declared].flatMap(([name, count]) => (count <= 0 ? [name] : [])))
}

/** What a request may ask for and a policy should leave as its task has it; the value need not be written down. */
function requestKnob(node: Node, constants: Constants): Pick<KnobFact, 'name' | 'unit' | 'value'> | null {
  if (node.type !== 'Property') return null
  const name = propertyName(node, constants) ?? ''
  const value = constants.of(node.value)
  if (
    /^(?:effort|reasoning_effort|service_tier)$/.test(name) &&
    value === null &&
    bare(node.value)?.type !== 'ObjectExpression'
  )
    return { name, unit: 'effort', value: 'decided while it runs' }
  if (name === 'service_tier' && typeof value === 'string') return { name, unit: 'effort', value }
  if (name === 'model' && typeof value === 'string') return { name, unit: 'money', value }
  return /^(?:n|best_of)$/.test(name) && typeof value === 'number' && value > 1 ? { name, unit: 'money', value } : null
}

/** It is the value of a constant, a property or a default; `let tries = 0` begins a count. */
function isNamed(value: number | string, node: Node, ancestors: readonly Node[]): boolean {
  let child = node
  for (const parent of ancestors.toReversed()) {
    if (parent.type === 'VariableDeclarator') return parent.init === child && value !== 0
    const isChoice = parent.type === 'ConditionalExpression' || parent.type === 'LogicalExpression'
    if (!isChoice || parent.test === child)
      return /^(?:Property|PropertyDefinition|AssignmentPattern|ArrayExpression)$/.test(parent.type)
    child = parent
  }
  return false
}

/** More, by so much, than a limit that the kernel tells of. */
function isAddend(node: Node, parent: Node | undefined, constants: Constants): boolean {
  if (parent?.type !== 'BinaryExpression' || parent.operator !== '+') return false
  return namesIn(parent.left === node ? parent.right : parent.left, constants).some((name) => toldLimits.test(name))
}

function isFactor(value: number | string, parent: Node | undefined): boolean {
  return value !== 1 && value !== 0 && /^(?:\*|\*\*|<<|\*=)$/.test(String(parent?.operator))
}

/** Names of the places where each constant is used: it is a knob wherever it is called so. */
function usesOf(program: Node, constants: Constants): Map<string, string[]> {
  const uses = new Map<string, string[]>()
  walk(program, (node, ancestors) => {
    const parent = ancestors.at(-1)
    if (node.type !== 'Identifier' || parent?.type === 'VariableDeclarator') return
    if (parent?.type === 'MemberExpression' && parent.object !== node) return
    const name = String(node.name)
    const places = placesOf(node, ancestors, constants).filter((place) => place !== name)
    if (places.length > 0) uses.set(name, [...(uses.get(name) ?? []), ...places].slice(0, 20))
  })
  return uses
}

/** What a value is the value of, from the nearest name on: property, variable, parameter, the other side of a comparison. */
function placesOf(node: Node, ancestors: readonly Node[], constants: Constants): string[] {
  const places: string[] = []
  let child = node
  for (const parent of ancestors.toReversed()) {
    if (/Function|^(?:Program|BlockStatement|ClassBody|Return|IfStatement)/.test(parent.type)) {
      const owner = parent.type === 'FunctionDeclaration' ? nameOf(parent.id) : null
      if (owner !== null && child.type === 'ReturnStatement') places.push(owner)
      break
    }
    if (parent.type === 'Property' || parent.type === 'PropertyDefinition') {
      const name = propertyName(parent, constants)
      if (name !== null && parent.value === child) places.push(name)
    } else if (parent.type === 'VariableDeclarator') {
      const name = nameOf(parent.id)
      if (name !== null && parent.init === child) places.push(name)
    } else if (parent.type === 'AssignmentExpression' || parent.type === 'AssignmentPattern') {
      if (parent.right === child) places.push(...namesIn(parent.left, constants))
    } else if (parent.type === 'BinaryExpression' || parent.type === 'LogicalExpression') {
      places.push(...namesIn(parent.left === child ? parent.right : parent.left, constants))
    } else if (parent.type === 'CallExpression' && parent.callee !== child) {
      const callee = namesIn(parent.callee, constants)
      places.push(...callee)
      // Of min, max and the like it matters what it is held against.
      if (callee.some((name) => name === 'min' || name === 'max'))
        places.push(
          ...(parent.arguments as Node[]).filter((one) => one !== child).flatMap((one) => namesIn(one, constants)),
        )
    }
    child = parent
  }
  return places
}

function namesIn(node: unknown, constants: Constants): string[] {
  const inner = bare(node)
  if (inner === null) return []
  if (inner.type === 'MemberExpression')
    return [constants.property(inner) ?? '', ...namesIn(inner.object, constants)].filter((name) => name !== '')
  if (inner.type === 'BinaryExpression' || inner.type === 'LogicalExpression')
    return [...namesIn(inner.left, constants), ...namesIn(inner.right, constants)]
  if (inner.type === 'CallExpression') return namesIn(inner.callee, constants)
  const name = nameOf(inner)
  return name === null || name === 'this' ? [] : [name]
}

/** Whether the value is all that the variable holds, and not a part of something in it. */
function isWhole(node: Node, declared: Node | undefined): boolean {
  return bare(declared?.init) === bare(node)
}

function unitOf(places: readonly string[]): { name: string; unit: Knob['unit'] } | null {
  for (const [unit, words] of units) {
    const name = places.find((place) => wordsOf(place).some((word) => words.test(word)))
    if (name !== undefined) return { name, unit }
  }
  return null
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
}
