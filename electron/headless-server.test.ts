import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HeadlessDesk, serveHeadless } from './headless-server.ts'

describe('headless desk', () => {
  let folder: string
  let desk: HeadlessDesk
  let url: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headless-'))
    await writeFile(join(folder, 'index.html'), 'desk')
    desk = await serveHeadless(folder)
    url = desk.freshUrl()
  })
  afterEach(async () => {
    await desk.close()
    await rm(folder, { recursive: true })
  })

  it('gives a cookie to the first holder of the token and the desk to the cookie', async () => {
    const first = await get(url)
    expect(first.status).toBe(303)
    expect(first.cookie).toMatch(/; HttpOnly; SameSite=Strict$/)
    const page = await get(url, { path: first.location, cookie: first.cookie.split(';')[0] })
    expect(page).toMatchObject({ status: 200, body: 'desk' })
  })

  it('spends the token at the first visit', async () => {
    await get(url)
    expect(await get(url)).toMatchObject({ status: 401, cookie: '' })
  })

  it('hands out fresh links while it runs, each good once, and says to a late visitor how to get one', async () => {
    await get(url)
    const again = desk.freshUrl()
    expect((await get(again)).status).toBe(303)
    const late = await get(again)
    expect(late.status).toBe(401)
    expect(late.body).toContain('npm start')
  })

  it('does not spend the token on a HEAD, such as a preview of the link', async () => {
    expect((await get(url, { method: 'HEAD' })).status).toBe(401)
    expect((await get(url)).status).toBe(303)
  })

  it('refuses a visitor without token or cookie, and a wrong one of either', async () => {
    expect((await get(url, { path: '/' })).status).toBe(401)
    expect((await get(url, { path: '/?token=x' })).status).toBe(401)
    expect((await get(url, { path: '/', cookie: `exodesk-${new URL(url).port}=x` })).status).toBe(401)
  })

  it('refuses a foreign Host or Origin, and does not spend the token on it', async () => {
    expect((await get(url, { host: 'desk.example' })).status).toBe(403)
    expect((await get(url, { host: `localhost:${new URL(url).port}` })).status).toBe(403)
    expect((await get(url, { origin: 'https://desk.example' })).status).toBe(403)
    expect((await get(url)).status).toBe(303)
  })
})

interface Reply {
  status: number
  body: string
  cookie: string
  location: string
}

function get(address: string, headers: { path?: string; [name: string]: string | undefined } = {}): Promise<Reply> {
  const { path, method, ...rest } = headers
  const url = path === undefined ? address : new URL(path, address)
  return new Promise((resolve, reject) => {
    request(url, { method, headers: JSON.parse(JSON.stringify(rest)) }, (response) => {
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
