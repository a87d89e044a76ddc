import { KernelError } from '../errors.ts'
import type { ModelChoice } from '../wire/events.ts'
import type { Endpoint } from './upstream.ts'
import type { UpstreamError } from './upstream-error.ts'

/** The key for this model, from wherever it is kept; null where there is none. Asked for anew with each call. */
export type ModelKeys = (model: ModelChoice) => Promise<string | null>

/**
 * Where a model is and the key for it.
 * @throws KernelError `invalid` (no usable address), `forbidden` (a key would cross the network in the clear),
 * `unavailable` (there is no key where it should be), or what `keys` throws.
 */
export async function endpointOf(model: ModelChoice, keys: ModelKeys): Promise<Endpoint> {
  if (!URL.canParse(model.baseUrl))
    throw new KernelError(
      'invalid',
      `'${model.baseUrl}' is not a base URL: give one such as https://api.openai.com/v1.`,
    )
  const { protocol, hostname, username, password } = new URL(model.baseUrl)
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new KernelError('invalid', `A base URL begins with https:// or http://, not ${protocol}`)
  if (username !== '' || password !== '')
    throw new KernelError(
      'invalid',
      'The base URL holds a user name or password: put the key in an environment variable and name that.',
    )
  const kept = keptKey(model)
  if (kept === null) return { baseUrl: model.baseUrl, key: null }
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new KernelError(
      'forbidden',
      `A key is not sent to ${hostname} over plain http: use https, or an endpoint that needs no key.`,
    )
  const key = await keys(model)
  if (key === null)
    throw new KernelError('unavailable', `There is no key for ${hostname} in ${kept}: ${howToMend(model)}.`)
  return { baseUrl: model.baseUrl, key }
}

/** Where the key of this model is kept, in words; null: it needs none. */
function keptKey(model: ModelChoice): string | null {
  if (model.credential !== undefined) return `the sealed credential '${model.credential}'`
  return model.keyEnv === null ? null : `the environment variable ${model.keyEnv}`
}

function howToMend(model: ModelChoice): string {
  return model.credential === undefined ? 'set it and start the app again' : 'seal it again'
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/**
 * A provider's failure as the executor and the operator are told it; `message` is redacted by the caller. What only the
 * operator can mend is not `unavailable`: a policy tries that again.
 */
export function failureOf(error: UpstreamError, model: ModelChoice): KernelError {
  const status = error.httpStatus
  const said = error.message
  if (status === 402)
    return new KernelError('forbidden', `${hostOf(model)} wants credit (${said}): top the account up.`)
  if (status === 401 || status === 403) {
    const kept = keptKey(model)
    const what = kept === null ? 'it may need a key' : `check the key in ${kept}`
    return new KernelError('forbidden', `${hostOf(model)} refused the call (${said}): ${what}.`)
  }
  if (status === 404)
    return new KernelError('not-found', `${hostOf(model)} does not know '${model.name}' or has no such API (${said}).`)
  if (error.code !== null && overflowCodes.has(error.code))
    return new KernelError('invalid', `The prompt is longer than '${model.name}' takes (${said}): send a shorter one.`)
  if (status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429)
    return new KernelError('invalid', `${hostOf(model)} did not accept the request (${said}).`)
  return new KernelError('unavailable', `No whole answer came from ${hostOf(model)}: ${said}.`)
}

/** Of OpenAI and OpenRouter, and of llama.cpp; others say it in words alone, which are passed on. */
const overflowCodes = new Set(['context_length_exceeded', 'exceed_context_size_error'])

function hostOf(model: ModelChoice): string {
  return new URL(model.baseUrl).host
}
