import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { KernelError } from '../errors.ts'

/**
 * What the allowlists of both APIs are made of. What they do not name does not reach a provider: no hosted tools, no URLs
 * that a provider would fetch, no ids of things that it stores, no headers, no endpoint.
 */
export const text = z.string()
const nameLength = 256
export const toolName = z.string().min(1).max(nameLength)
export const callId = z
  .string()
  .max(256)
  .regex(/^[\w.:-]*$/)
/** The id of a model's call: as the server gave it where that may be sent back, else one of our own. */
export function sendableCallId(said: unknown): string {
  const isSendable = typeof said === 'string' && said !== '' && callId.safeParse(said).success
  return isSendable ? said : `call_${randomUUID()}`
}
/** The name in a model's call, such that it may be sent back. No tool has the name that stands for none. */
export function sendableName(said: unknown): string {
  return typeof said === 'string' && said !== '' ? said.slice(0, nameLength) : 'unnamed'
}
export const schemaObject = z.record(text, z.json())
export const imageUrl = z
  .string()
  .regex(/^data:image\/[\w.+-]+;base64,[A-Za-z0-9+/=]*$/, 'must be a data: URL with base64 content')
/** Links in an answer come from hosted tools; there are none, so there is nothing to echo. */
export const nothing = z.array(z.json()).max(0)
export const jsonSchemaFormat = z.strictObject({
  name: toolName,
  description: text.optional(),
  schema: schemaObject,
  strict: z.boolean().nullable().optional(),
})

/** @throws KernelError `invalid`: a task keeps to its model. */
export function checkModel(given: string, model: string): void {
  if (given !== model)
    throw invalid(`model: this task runs on '${model}', not '${given.slice(0, 200)}'; send that name`)
}

/**
 * Checks against the schema of the value's own kind, which its `field` names: an error then names what is wrong, not the
 * list of alternatives. @param otherwise the kind of a value that names none.
 */
export function checkKind(
  kinds: Record<string, z.ZodType>,
  value: unknown,
  at: string,
  field: 'type' | 'role',
  otherwise: string | null,
): void {
  if (typeof value !== 'object' || value === null) throw invalid(`${at}: must be an object`)
  const type = field in value ? (value as Record<string, unknown>)[field] : otherwise
  if (typeof type !== 'string' || !Object.hasOwn(kinds, type))
    throw invalid(
      `${at}.${field}: ${JSON.stringify(type)?.slice(0, 100)} is not allowed; allowed are ${Object.keys(kinds).join(', ')}`,
    )
  check(kinds[type] as z.ZodType, value, at)
}

export function check<T extends z.ZodType>(schema: T, value: unknown, at: string): z.infer<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = deepest(parsed.error.issues)
  const path = [at, ...issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))]
    .join('')
    .replace(/^\./, '')
  if (issue.code === 'unrecognized_keys')
    throw invalid(
      `${[path, issue.keys[0]].filter(Boolean).join('.').slice(0, 200)}: unknown field; it is not among those that may be sent`,
    )
  throw invalid(`${path.slice(0, 200)}: ${issue.message.slice(0, 300)}`)
}

type Issue = z.core.$ZodIssue

/** A union reports one issue that hides the alternatives' own: the one that got furthest says what is wrong. */
function deepest(issues: readonly Issue[], above: PropertyKey[] = []): Issue {
  const found = issues.map((issue): Issue => {
    const path = [...above, ...issue.path]
    return issue.code === 'invalid_union' && issue.errors.length > 0
      ? deepest(issue.errors.flat(), path)
      : { ...issue, path }
  })
  return found.reduce((best, issue) =>
    issue.path.length > best.path.length ||
    (issue.code === 'unrecognized_keys' && best.code !== 'unrecognized_keys' && issue.path.length === best.path.length)
      ? issue
      : best,
  )
}

export function invalid(message: string): KernelError {
  return new KernelError('invalid', `model.call body: ${message}`)
}
