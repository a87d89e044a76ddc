// The day's work that the canary tests look through afterwards.

import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A task that looks for keys where it can, changes its policy, and waits for the verdict. */
export function writePack(folder: string): string {
  const shell = (text: string) => ({ toolCalls: [{ name: 'shell', arguments: { command: text } }] })
  const script = [
    shell(
      'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" "\\n"; ls -la / /task /policy ~ 2>&1; cat ~/.aws/credentials 2>&1',
    ),
    shell('echo "work" > /task/work.txt; echo "// a remark" >> /policy/budget.ts'),
    { toolCalls: [{ name: 'propose', arguments: { claim: 'a remark', why: 'to see it go live' } }] },
    ...Array.from({ length: 12 }, () => shell('sleep 1; cat /task/work.txt')),
    { toolCalls: [{ name: 'complete', arguments: { summary: 'done' } }] },
  ]
  mkdirSync(folder)
  writeFileSync(join(folder, 'task.toml'), 'schema_version = "1.4"\n[task]\nname = "test/canary"\n')
  const fence = '```'
  writeFileSync(
    join(folder, 'instruction.md'),
    `Look around. Your source is in /policy.\n\n${fence}script\n${JSON.stringify(script)}\n${fence}\n`,
  )
  return folder
}

export interface Capture {
  baseUrl: string
  authorizations: (string | undefined)[]
  bodies: string[]
  server: Server
}

/** A provider that keeps what it was sent, and passes it on, without the key, to the simulator at `origin`. */
export async function startCapture(origin: string): Promise<Capture> {
  const authorizations: (string | undefined)[] = []
  const bodies: string[] = []
  const server = createServer(async (asked, answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    authorizations.push(asked.headers.authorization)
    bodies.push(body.toString())
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
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { baseUrl, authorizations, bodies, server }
}
