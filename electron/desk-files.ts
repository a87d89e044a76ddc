// What both hosts serve to a window: the built renderer, under one policy.
import { readFile } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'

export interface DeskFile {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** Styles may be inline because the code editor writes its own style elements; nothing that runs may be. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), usb=(), serial=(), hid=(), display-capture=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.ttf': 'font/ttf',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

/**
 * The answer to a request for `pathname` below `folder`. A path without an extension is a screen of the desk and gets
 * index.html; a path that leaves the folder, or names nothing, gets 404.
 */
export async function readDeskFile(folder: string, pathname: string): Promise<DeskFile> {
  const file = locate(folder, pathname)
  const body = file === null ? null : await readFile(file).catch(() => null)
  if (file === null || body === null) return plain(404, 'Not found')
  const type = types[extname(file)] ?? 'application/octet-stream'
  return { status: 200, headers: { ...securityHeaders, 'content-type': type }, body }
}

export function plain(status: number, text: string): DeskFile {
  const headers = { ...securityHeaders, 'content-type': 'text/plain; charset=utf-8' }
  return { status, headers, body: Buffer.from(`${text}\n`) }
}

function locate(folder: string, pathname: string): string | null {
  let decoded: string
  try {
    decoded = decodeURIComponent(pathname)
  } catch {
    return null
  }
  if (decoded.includes('\0')) return null
  const file = normalize(join(folder, extname(decoded) === '' ? 'index.html' : decoded))
  return file.startsWith(normalize(folder) + sep) ? file : null
}
