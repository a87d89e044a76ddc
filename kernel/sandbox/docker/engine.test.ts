import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'

let dir: string
let path: string
let server: Server
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'exodesk-engine-'))
  chmodSync(dir, 0o755)
  path = join(dir, 'docker.sock')
  server = createServer((socket) => socket.end('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\nno'))
  await new Promise<void>((resolve) => server.listen(path, resolve))
})
afterEach(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

/** What an ordinary user is told: root may open every socket. */
async function asOrdinaryUser(): Promise<{ code: string; message: string; details: Record<string, string> }> {
  const isRoot = process.getuid?.() === 0
  const code = `
    import { openEngine } from ${JSON.stringify(join(import.meta.dirname, 'engine.ts'))}
    const engine = openEngine(${JSON.stringify(path)})
    await engine.call('say its version', () => engine.docker.version()).catch(({ code, message, details }) =>
      console.log(JSON.stringify({ code, message, details })))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    cwd: dir,
    ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
  })
  return JSON.parse(stdout)
}

it('says of a socket that this user may not open what would mend it, and not that there is no engine', async () => {
  chmodSync(path, 0o600)
  if (process.getuid?.() !== 0) chmodSync(path, 0)
  const { code, message, details } = await asOrdinaryUser()
  expect([code, details.engineLost]).toEqual(['unavailable', undefined])
  expect(details.reason).toBe(`this user may not use the Docker engine (no permission for ${path})`)
  expect(details.fix).toMatch(/usermod -aG docker .*EXODESK_DOCKER=off/)
  expect(message).toBe(`${details.reason}. To mend it: ${details.fix}`)
  // The control: one that it may open is asked.
  chmodSync(path, 0o666)
  expect((await asOrdinaryUser()).message).toMatch(/^the Docker engine did not say its version: .*500/)
})
