// The headless host as built, as a process that a test can stop, kill and start again on the same data directory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type Browser, chromium } from 'playwright-core'
import { root } from './exodesk.ts'

export const chromiumPath = process.env.EXODESK_CHROMIUM ?? '/usr/bin/chromium'

export interface Headless {
  /** The one-time URL that it printed. */
  url: string
  /** kill -9. Resolves when it is gone. */
  kill(): Promise<void>
  /** As Ctrl-C does. Resolves when it is gone. */
  stop(): Promise<void>
}

/** Resolves when it serves. Its stderr is the test's own. */
export async function startHeadless(data: string, env: Record<string, string> = {}): Promise<Headless> {
  const host = spawn(process.execPath, [join(root, 'dist', 'headless.cjs'), '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const exited = once(host, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(host.stdout).once('line', resolve)
    void exited.then(([code, signal]) => reject(new Error(`headless exited with ${code ?? signal}`)))
  })
  const end = async (signal: NodeJS.Signals) => {
    host.kill(signal)
    await exited
  }
  return { url, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

/** Runs it to its end, as where another host holds the data directory. */
export async function runHeadless(data: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const host = spawn(process.execPath, [join(root, 'dist', 'headless.cjs'), '--data', data], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(host.stdout), text(host.stderr), once(host, 'exit')])
  return { code, stdout, stderr }
}

export function launchChromium(): Promise<Browser> {
  const isRoot = process.getuid?.() === 0
  const args = ['--disable-background-networking', ...(isRoot ? ['--no-sandbox'] : [])]
  return chromium.launch({ executablePath: chromiumPath, args })
}

/** Why the headless desk cannot be opened in a browser here, or null. */
export function chromiumMissing(): string | null {
  if (!existsSync(chromiumPath))
    return `no Chromium at ${chromiumPath} (apt-get install chromium, or set EXODESK_CHROMIUM)`
  return existsSync(join(root, 'dist', 'headless.cjs')) ? null : 'dist/ is not built (npm run build)'
}
