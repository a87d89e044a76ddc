import type { ServerResponse } from 'node:http'

/** A reader of an answer, as whoever writes it sees it. */
export interface Reader {
  /** False once the reader is gone. Resolves when the text has left this process, so that it arrives before a cut. */
  write(text: string): Promise<boolean>
  /** Resolves when the reader is gone. */
  gone: Promise<void>
  cut(): void
}

export function openStream(response: ServerResponse, headers: Record<string, string> = {}): Reader {
  const type = 'text/event-stream; charset=utf-8'
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache', ...headers })
  return readerOf(response)
}

export function readerOf(response: ServerResponse): Reader {
  const gone = new Promise<void>((resolve) => {
    if (response.destroyed) resolve()
    response.once('close', () => resolve())
  })
  return {
    gone,
    async write(text) {
      if (response.destroyed) return false
      const written = new Promise<void>((resolve) => response.write(text, () => resolve()))
      await Promise.race([written, gone])
      return !response.destroyed
    },
    cut: () => response.destroy(),
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
    .end(text)
}
