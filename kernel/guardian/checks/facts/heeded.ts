import type { Knob } from '../../../wire/operator-checks.ts'
import type { KnobFact } from './file-facts.ts'
import { bare, isNode, type Node, nameOf, type Syntax, some, walk } from './syntax.ts'

/** Limits that the kernel tells of, and what saves at every step: a program that no longer asks for one spends on. */
const told: ReadonlyMap<string, Knob['unit']> = new Map([
  ['maxSteps', 'turns'],
  ['draining', 'turns'],
  ['maxMs', 'time'],
  ['maxOutputTokens', 'tokens'],
  ['contextWindow', 'tokens'],
  ['budgetTokens', 'tokens'],
  ['budgetNanoUsd', 'money'],
])

/** Where a limit of the kernel's is asked for, and whether it holds as it is: `heeded`, or `loosened` by what stands around it. */
export function heededIn({ program, lineAt }: Syntax): KnobFact[] {
  const knobs: KnobFact[] = []
  const counters = new Set<string>()
  const deadlines = new Set<string>()
  const add = (name: string, unit: Knob['unit'], isLoose: boolean, node: Node) =>
    knobs.push({ name, unit, value: isLoose ? 'loosened' : 'heeded', line: lineAt(node.start), isBound: true })
  walk(program, (node, ancestors) => {
    const key = node.type === 'Property' ? nameOf(node.key) : null
    // A name that is made anew names another cache each time.
    if (key === 'prompt_cache_key' || key === 'cacheKey')
      add(
        key,
        'money',
        some(node.value as Node, ({ type }) => /^(?:Call|New)Expression$/.test(type)),
        node,
      )
    const counted = node.type === 'AssignmentExpression' && node.operator === '-=' ? bare(node.left) : null
    if (counted?.type === 'MemberExpression' && counts.test(nameOf(counted.property) ?? ''))
      add(`count of ${nameOf(counted.property)} left`, 'money', false, node)
    for (const spent of spentIn(node))
      add(`count of ${spent.name}`, 'money', isScaled(spent.node, spent.ancestors), node)
    if (node.type === 'VariableDeclarator' && isNode(node.init) && some(node.init, isDeadline)) {
      const name = nameOf(node.id)
      if (name !== null) deadlines.add(name)
    }
    const name = node.type === 'MemberExpression' ? nameOf(node.property) : null
    const unit = told.get(name ?? '')
    if (name === null || unit === undefined) return
    const parent = ancestors.at(-1)
    const isSet = parent?.type === 'AssignmentExpression' && parent.left === node
    add(name, unit, isSet ? bare(parent.right)?.value !== true : isLoosened(node, ancestors), node)
    const other = parent?.type === 'BinaryExpression' ? nameOf(parent.left === node ? parent.right : parent.left) : null
    if (name === 'maxSteps' && other !== null) counters.add(other)
  })
  walk(program, (node, ancestors) => {
    const target =
      node.type === 'AssignmentExpression' ? node.left : node.type === 'UpdateExpression' ? node.argument : null
    const name = nameOf(target)
    if (name !== null && deadlines.has(name)) add('maxMs', 'time', true, node)
    if (name !== null && counters.has(name)) add(`count of ${name}`, 'turns', !isCount(node, ancestors), node)
  })
  return knobs
}

/** What is left of a limit, as the kernel calls it. */
const counts = /^(?:steps|tokens|nanoUsd)$/

const isDeadline = ({ type, property }: Node): boolean => type === 'MemberExpression' && nameOf(property) === 'maxMs'

/** What the kernel says was spent, where it is added up: each part of the usage, and the cost. */
function spentIn(node: Node): { name: string; node: Node; ancestors: readonly Node[] }[] {
  if (node.type !== 'AssignmentExpression' || !/^[-+]=$/.test(String(node.operator))) return []
  const found: { name: string; node: Node; ancestors: readonly Node[] }[] = []
  walk(node.right as Node, (one, ancestors) => {
    const parent = ancestors.at(-1)
    const isMember = parent?.type === 'MemberExpression' && parent.property === one
    const isCost = nameOf(one) === 'costNanoUsd' && (one.type === 'Identifier' || isMember)
    const isUsage =
      one.type === 'MemberExpression' && (nameOf(one.object) ?? nameOf((bare(one.object) as Node).property)) === 'usage'
    if (isCost || isUsage)
      found.push({
        name: isCost ? 'costNanoUsd' : `usage.${nameOf(one.property)}`,
        node: one,
        ancestors: [...ancestors],
      })
  })
  return found
}

/** Only a sum counts all of it. */
function isScaled(node: Node, ancestors: readonly Node[]): boolean {
  return ancestors.some(
    ({ type, operator, test }) =>
      (type === 'BinaryExpression' && operator !== '+') || (type === 'ConditionalExpression' && test !== node),
  )
}

/** A sum with it, the greater of it and another, or a comparison that another condition does without. */
function isLoosened(node: Node, ancestors: readonly Node[]): boolean {
  let child = node
  let compared: 'below' | 'above' | null = null
  for (const parent of ancestors.toReversed()) {
    const operator = String(parent.operator)
    if (parent.type === 'BinaryExpression') {
      if (/^(?:\+|\*|\*\*|<<)$/.test(operator)) return true
      if (/^[<>]=?$/.test(operator))
        compared = operator.startsWith('<') === (parent.right === child) ? 'below' : 'above'
    } else if (parent.type === 'UnaryExpression' && operator === '!') {
      compared = compared === 'below' ? 'above' : compared === 'above' ? 'below' : null
    } else if (parent.type === 'LogicalExpression') {
      if (compared !== null && operator === (compared === 'below' ? '||' : '&&')) return true
    } else if (parent.type === 'CallExpression') {
      const callee = bare(parent.callee)
      return callee?.type === 'MemberExpression' && nameOf(callee.property) === 'max'
    } else if (/Statement$|Function|Declarator$/.test(parent.type)) return false
    child = parent
  }
  return false
}

/** One more, each time round. */
function isCount(node: Node, ancestors: readonly Node[]): boolean {
  const isOne =
    node.type === 'UpdateExpression' ? node.operator === '++' : node.operator === '+=' && bare(node.right)?.value === 1
  if (!isOne) return false
  for (const { type } of ancestors.toReversed()) {
    if (/^(?:If|Switch)Statement$|^(?:Conditional|Logical)Expression$|^SwitchCase$/.test(type)) return false
    if (/^(?:While|For|DoWhile|ForOf|ForIn)Statement$|Function/.test(type)) return true
  }
  return true
}
