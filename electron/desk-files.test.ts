import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDeskFile } from './desk-files.ts'

describe('desk files', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'desk-files-'))
    await writeFile(join(folder, 'index.html'), '<p>desk</p>')
    await writeFile(join(folder, 'app.js'), '1')
    await writeFile(`${folder}-secret.txt`, 'secret')
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
    await rm(`${folder}-secret.txt`)
  })

  it('serves the page for the root and for every screen path', async () => {
    for (const path of ['/', '/history', '/proposals/3']) {
      const file = await readDeskFile(folder, path)
      expect(file.status).toBe(200)
      expect(file.body.toString()).toBe('<p>desk</p>')
      expect(file.headers['content-type']).toBe('text/html; charset=utf-8')
    }
  })

  it('allows no inline script and no foreign origin', async () => {
    const { headers } = await readDeskFile(folder, '/app.js')
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';")
    expect(headers['content-security-policy']).not.toMatch(/https?:|\*/)
  })

  it('answers 404 for a file that is missing, outside the folder or malformed', async () => {
    const name = `${folder.split('/').at(-1)}-secret.txt`
    const paths = [
      '/none.js',
      `/../${name}`,
      `/%2e%2e/${name}`,
      `/..%2f${name}`,
      '/%00.js',
      '/%.js',
      '/../../etc/a.conf',
    ]
    for (const path of paths) expect((await readDeskFile(folder, path)).status, path).toBe(404)
  })
})
