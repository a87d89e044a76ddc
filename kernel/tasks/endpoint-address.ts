import { isIPv4 } from 'node:net'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import type { EventData } from '../wire/events.ts'
import type { RunRequest } from '../wire/operator.ts'

/** A service of this machine that a pack asks to reach. */
export interface Endpoint {
  name: string
  /** `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`. */
  address: string
}

/** Where an address leads: numbers only, so that no resolver has a say in it. `localhost` is both of its addresses. */
export interface Target {
  hosts: string[]
  port: number
}

/** Null unless the address is a TCP port on loopback. */
export function targetOf(address: string): Target | null {
  const [, host = '', digits = ''] = /^(localhost|[\d.]{7,15}|\[::1\]):([1-9]\d{0,4})$/.exec(address) ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) return null
  if (host === 'localhost') return { hosts: ['127.0.0.1', '::1'], port }
  if (host === '[::1]') return { hosts: ['::1'], port }
  return isIPv4(host) && host.startsWith('127.') ? { hosts: [host], port } : null
}

/** Most endpoints of one pack. */
const endpointsMax = 8

export const endpointsSchema = z
  .array(
    z.strictObject({
      name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and "-", such as "game"'),
      address: z.string().refine((address) => targetOf(address) !== null, {
        error: 'must be a TCP port of this machine alone, such as "127.0.0.1:8080"',
      }),
    }),
  )
  .max(endpointsMax)
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, { error: 'has one name twice' })

/**
 * The endpoints of a pack, all of them consented to: a pack gets what it asks for or is not run.
 * @throws KernelError `forbidden` (says which, and how to allow them), `invalid` (consent to what the pack does not ask for).
 */
export function consented(pack: string, asked: readonly Endpoint[], given: RunRequest['endpoints'] = []): Endpoint[] {
  const unknown = given.find(({ name }) => !asked.some((one) => one.name === name))
  if (unknown !== undefined) {
    const names = asked.map(({ name }) => name).join(', ') || 'none'
    throw new KernelError('invalid', `${pack} has no endpoint ${JSON.stringify(unknown.name)}; it has: ${names}`)
  }
  for (const { name, address } of asked) {
    const shown = given.find((one) => one.name === name)?.address
    if (shown !== undefined && shown !== address)
      throw new KernelError(
        'conflict',
        `${name} of ${pack} is ${address} now, not ${shown}: look again, and allow that`,
      )
  }
  const missing = asked.filter(({ name }) => !given.some((one) => one.name === name))
  if (missing.length > 0) {
    const services = missing.map(({ name, address }) => `${name} (${address})`).join(', ')
    const flags = missing.map(({ name }) => `--allow-endpoint ${name}`).join(' ')
    throw new KernelError(
      'forbidden',
      `${pack} wants to reach services of this machine from its sandbox: ${services}. If it may, allow each: ${flags}`,
    )
  }
  return [...asked]
}

const folderInBox = '/run/endpoints'

/** Where the sandbox finds the socket of an endpoint. */
function socketInBox({ name }: Endpoint): string {
  return `${folderInBox}/${name}.sock`
}

/** The variables that name the sockets to commands in the sandbox. */
export function endpointEnv(endpoints: readonly Endpoint[]): Record<string, string> {
  return Object.fromEntries(endpoints.map((one) => [variableOf(one), socketInBox(one)]))
}

function variableOf({ name }: Endpoint): string {
  return `EXODESK_ENDPOINT_${name.toUpperCase().replaceAll('-', '_')}`
}

/** What the agent is told of them, after its instruction; empty where there are none. */
export function endpointNote(endpoints: readonly Endpoint[]): string {
  if (endpoints.length === 0) return ''
  const lines = endpoints.map(
    (one) => `- ${one.name}: the Unix socket ${socketInBox(one)}, also in $${variableOf(one)}`,
  )
  return [
    '',
    '',
    'There is no network here, except for these local services. Connect to the socket and speak what the service speaks; for HTTP:',
    '`curl --unix-socket PATH http://localhost/…`.',
    ...lines,
  ].join('\n')
}

/** What a task tells its executor to do, with what it may reach. */
export function instructionOf({ instruction, endpoints = [] }: EventData<'task.created'>): string {
  return instruction + endpointNote(endpoints)
}
