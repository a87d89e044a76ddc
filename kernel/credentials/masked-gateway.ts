import type { Gateway } from '../models/models.ts'
import type { Masks } from './credentials.ts'
import { maskedValue } from './masks.ts'

/** The same gateway, by which no known key goes to a model: not even the one that the call itself is made with. */
export function maskedGateway(gateway: Gateway, masks: Masks): Gateway {
  const own: Partial<Gateway> = {
    call: (call) => gateway.call({ ...call, body: maskedValue(call.body, masks.redact) }),
  }
  return Object.assign(Object.create(gateway) as Gateway, own)
}
