// One call through a gateway, in a process whose environment a test chose. Arguments: base URL, API, an address for the control.
import { endpointProblem } from '../models/reachable.ts'
import { openGatewayBench } from './gateway.ts'

const [baseUrl = '', api = 'chat', control = ''] = process.argv.slice(2)
const { openGateway, aCall, upstream } = await openGatewayBench()
const call = aCall({ model: { baseUrl, api: api === 'chat' ? 'chat' : 'responses' } })
if (api === 'chat') call.body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const problem = await endpointProblem({ baseUrl })
const answer = await openGateway().call(call)
// What ordinary code does in this environment; how it ends does not matter.
await fetch(control).catch(() => undefined)
await upstream.close()
process.stdout.write(`${answer.status} ${problem}`)
