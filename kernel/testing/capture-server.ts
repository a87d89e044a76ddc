import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A provider on loopback that plays `origin`, and keeps what it was sent. */
export interface CaptureServer {
  baseUrl: string
  requests: { headers: IncomingHttpHeaders; body: string }[]
  close(): Promise<void>
}

export async function startCaptureServer(origin: string): Promise<CaptureServer> {
  const requests: CaptureServer['requests'] = []
  const server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    requests.push({ headers: asked.headers, body: body.toString() })
    const { host: _host, authorization: _key, ...headers } = asked.headers
    const passed = send(`${origin}${asked.url}`, { method: asked.method ?? 'GET', headers }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers)
      given.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    passed.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
