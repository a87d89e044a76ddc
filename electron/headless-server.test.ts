import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HeadlessDesk, serveHeadless } from './headless-server.ts'

describe('headless desk', () => {
  let folder: string
  let desk: HeadlessDesk
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headless-'))
    await writeFile(join(folder, 'index.html'), 'desk')
    desk = await serveHeadless(folder)
  })
  afterEach(async () => {
    await desk.close()
    await rm(folder, { recursive: true })
  })

  it('gives a cookie to the first holder of the token and the desk to the cookie', async () => {
    const first = await get(desk.url)
    expect(first.status).toBe(303)
    expect(first.cookie).toMatch(/; HttpOnly; SameSite=Strict$/)
    const page = await get(desk.url, { path: first.location, cookie: first.cookie.split(';')[0] })
    expect(page).toMatchObject({ status: 200, body: 'desk' })
  })

  it('spends the token at the first visit', async () => {
    await get(desk.url)
    expect(await get(desk.url)).toMatchObject({ status: 401, cookie: '' })
  })

  it('refuses a visitor without token or cookie, and a wrong one of either', async () => {
    expect((await get(desk.url, { path: '/' })).status).toBe(401)
    expect((await get(desk.url, { path: '/?token=x' })).status).toBe(401)
    expect((await get(desk.url, { path: '/', cookie: `exodesk-${new URL(desk.url).port}=x` })).status).toBe(401)
  })

  it('refuses a foreign Host or Origin, and does not spend the token on it', async () => {
    expect((await get(desk.url, { host: 'desk.example' })).status).toBe(403)
    expect((await get(desk.url, { host: `localhost:${new URL(desk.url).port}` })).status).toBe(403)
    expect((await get(desk.url, { origin: 'https://desk.example' })).status).toBe(403)
    expect((await get(desk.url)).status).toBe(303)
  })
})

interface Reply {
  status: number
  body: string
  cookie: string
  location: string
}

function get(address: string, headers: { path?: string; [name: string]: string | undefined } = {}): Promise<Reply> {
  const { path, ...rest } = headers
  const url = path === undefined ? address : new URL(path, address)
  return new Promise((resolve, reject) => {
    request(url, { headers: JSON.parse(JSON.stringify(rest)) }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => {
        const cookie = response.headers['set-cookie']?.[0] ?? ''
        resolve({ status: response.statusCode ?? 0, body, cookie, location: response.headers.location ?? '' })
      })
    })
      .on('error', reject)
      .end()
  })
}
