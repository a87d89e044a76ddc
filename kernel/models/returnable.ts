import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { sendableCallId, sendableName } from './allowlist.ts'
import { type Fields, isFields } from './fields.ts'
import { contentParts, inputItems } from './request.ts'

/** As often as an item may be mended before it is given up. */
const mostMends = 100

/**
 * The items of an answer in the form in which a request may bring them back: what the allowlist of requests does not name,
 * a server's own fields and links, is left out, and so is an item of a kind that nobody asked for. Without that, one answer
 * of a talkative server would have every later request refused.
 */
export function returnable(output: readonly unknown[]): Fields[] {
  return output.flatMap((item) => {
    if (!isFields(item)) return []
    const schema = schemaOf(inputItems, item)
    if (schema === null) return []
    const content = item.type === 'message' && Array.isArray(item.content) ? item.content : null
    const given = content === null ? item : { ...item, content: content.flatMap(part) }
    return mended(schema, given)
  })
}

function part(value: unknown): Fields[] {
  const schema = isFields(value) ? schemaOf(contentParts, value) : null
  return schema === null ? [] : mended(schema, value as Fields)
}

function schemaOf(kinds: Record<string, z.ZodType>, { type }: Fields): z.ZodType | null {
  return typeof type === 'string' && Object.hasOwn(kinds, type) ? (kinds[type] ?? null) : null
}

/** Empty where it cannot be mended. The given object is left as it is. */
function mended(schema: z.ZodType, given: Fields): Fields[] {
  const item = structuredClone(given) as Record<string, unknown>
  for (let round = 0; round < mostMends; round += 1) {
    const parsed = schema.safeParse(item)
    if (parsed.success) return [item]
    const [issue] = parsed.error.issues
    if (issue === undefined || !mend(item, issue)) return []
  }
  return []
}

/** False: there is nothing that it could be mended by. */
function mend(item: Record<string, unknown>, issue: z.core.$ZodIssue): boolean {
  const [key] = issue.path
  if (issue.code === 'unrecognized_keys') {
    const owner = issue.path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown>)?.[step], item)
    if (!isFields(owner)) return false
    for (const name of issue.keys) delete (owner as Record<string, unknown>)[name]
    return true
  }
  if (typeof key !== 'string') return false
  if (key === 'call_id') return change(item, key, sendableCallId(item.call_id))
  if (key === 'name') return change(item, key, sendableName(item.name))
  if (key === 'arguments' && isFields(item.arguments)) return change(item, key, JSON.stringify(item.arguments))
  // A reasoning item without a usable id can be named by nothing: any other will do.
  if (key === 'id' && item.type === 'reasoning') return change(item, key, `rs_${randomUUID()}`)
  if (!(key in item) || key === 'type') return false
  delete item[key]
  return true
}

function change(item: Record<string, unknown>, key: string, to: string): boolean {
  const isOther = item[key] !== to
  item[key] = to
  return isOther
}
