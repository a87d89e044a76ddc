// Secrets from whoever runs a command: from a terminal without echo, or from a file. Never from arguments, which any
// process of the machine can read.
import { closeSync, openSync, readFileSync } from 'node:fs'
import { ReadStream } from 'node:tty'

/** Longer is no secret but the wrong file. */
const longestFile = 64 * 1024

/**
 * The passphrase in the file that EXODESK_PASSPHRASE_FILE names (/dev/fd/3 for a descriptor), without the line end.
 * undefined: none is named. @throws Error that says why it cannot be had.
 */
export function passphraseFromFile(): string | undefined {
  const file = process.env.EXODESK_PASSPHRASE_FILE
  if (file === undefined || file === '') return undefined
  try {
    const bytes = readFileSync(file)
    if (bytes.length > longestFile) throw new Error(`it has ${bytes.length} bytes`)
    const text = bytes.toString('utf8').replace(/\r?\n$/, '')
    if (text === '') throw new Error('it is empty')
    return text
  } catch (error) {
    throw new Error(`EXODESK_PASSPHRASE_FILE (${file}) gives no passphrase: ${(error as Error).message}`)
  }
}

/** All of stdin, where it is no terminal. */
export async function secretFromStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

/** A line that is typed and not shown; null: there is no terminal to ask at. Ctrl-C ends the process as usual. */
export async function askSecret(prompt: string): Promise<string | null> {
  const terminal = openTerminal()
  if (terminal === null) return null
  const { input, close } = terminal
  // Before the prompt: who answers at once is not echoed either.
  input.setRawMode(true)
  process.stderr.write(`${prompt}: `)
  try {
    return await readLine(input)
  } finally {
    input.setRawMode(false)
    process.stderr.write('\n')
    close()
  }
}

/** stdin may hold the key: then the terminal itself is asked. */
function openTerminal(): { input: ReadStream; close(): void } | null {
  if (process.stdin.isTTY) return { input: process.stdin, close: () => process.stdin.pause() }
  if (process.platform === 'win32') return null
  try {
    const fd = openSync('/dev/tty', 'r')
    const input = new ReadStream(fd)
    return {
      input,
      close() {
        input.destroy()
        closeQuietly(fd)
      },
    }
  } catch {
    return null
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // The stream has closed it.
  }
}

function readLine(input: ReadStream): Promise<string> {
  return new Promise((resolve) => {
    let line = ''
    const end = () => {
      input.off('data', take)
      resolve(line)
    }
    const take = (chunk: Buffer | string) => {
      for (const char of chunk.toString()) {
        if (char === '\r' || char === '\n' || char === '\u0004') return end()
        if (char === '\u0003') {
          input.setRawMode(false)
          process.stderr.write('\n')
          process.kill(process.pid, 'SIGINT')
          return end()
        }
        if (char === '\u007f' || char === '\b') line = [...line].slice(0, -1).join('')
        else line += char
      }
    }
    input.on('data', take)
    input.resume()
  })
}
