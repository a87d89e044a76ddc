import { z } from 'zod'
import { KernelError } from '../errors.ts'
import type { Box, SandboxProvider } from '../sandbox/sandbox.ts'
import type { TaskFolders } from './folders.ts'
import type { Pack } from './pack.ts'

const probeSchema = z.object({ value: z.number(), unit: z.string().max(50), goal: z.number(), done: z.boolean() })
const frameSchema = z.looseObject({ frame: z.string() })
const saveSchema = z.looseObject({ state: z.string() })
const answerSchema = z.looseObject({ id: z.number(), error: z.unknown().optional() })

/** What the world says of itself, over its own stdio: `measured`, out of the sandbox's reach. */
export interface WorldProbe {
  value: number
  unit: string
  goal: number
  done: boolean
}

/** A running world: a program in its own box with a durable journal. The agent reaches it by a socket; the kernel by stdio. */
export interface World {
  probe(): Promise<WorldProbe>
  frame(): Promise<string>
  /** Its whole state, for the grader and for snapshots. */
  save(): Promise<string>
  load(state: string): Promise<void>
  close(): Promise<void>
}

const answerMs = 10_000
const lineBytes = 16 * 1024 * 1024

/**
 * Starts the world in its box. A world that has a journal goes on from it.
 * @throws KernelError `unavailable` (it did not start or answer; its last words are in the text).
 */
export async function startWorld(
  provider: SandboxProvider,
  pack: Pack,
  folders: TaskFolders,
  label: string,
  seed: number,
): Promise<World> {
  if (pack.world === null) throw new KernelError('internal', 'this pack has no world')
  const box = await provider.start({
    profile: 'world',
    label: `${label}.world`,
    mounts: { program: folders.program, journal: folders.journal, socket: folders.socket },
    argv: ['/exodesk/bin/node', '/world/program/main.ts'],
    cwd: '/world',
  })
  const ask = converse(box)
  async function answer<S extends z.ZodType>(schema: S, request: Record<string, unknown>): Promise<z.infer<S>> {
    const parsed = schema.safeParse(await ask(request))
    if (parsed.success) return parsed.data
    throw new KernelError('unavailable', `the world's answer to ${request.op} cannot be used: ${parsed.error.message}`)
  }
  try {
    await ask({ op: 'init', seed, objective: pack.world.objective })
  } catch (error) {
    await box.kill()
    throw error
  }
  return {
    probe: () => answer(probeSchema, { op: 'probe' }),
    frame: async () => (await answer(frameSchema, { op: 'frame' })).frame.slice(0, 20_000),
    save: async () => (await answer(saveSchema, { op: 'save' })).state,
    load: async (state) => {
      await ask({ op: 'load', state })
    },
    close: () => box.kill(),
  }
}

interface Open {
  resolve(value: Record<string, unknown>): void
  reject(error: Error): void
}

function converse(box: Box): (request: Record<string, unknown>) => Promise<Record<string, unknown>> {
  const waiting = new Map<number, Open>()
  let last = 0
  let words = ''
  let ended: string | null = null
  const say = (text: string) => {
    words = (words + text).slice(-2000)
  }
  box.stderr.on('data', (chunk: Buffer) => say(chunk.toString('utf8')))
  readLines(box, (line) => {
    const parsed = answerSchema.safeParse(jsonOf(line))
    if (!parsed.success) {
      say(`\nnot an answer: ${line.slice(0, 200)}`)
      return
    }
    const open = waiting.get(parsed.data.id)
    waiting.delete(parsed.data.id)
    const { error } = parsed.data
    if (error === undefined) open?.resolve(parsed.data)
    else open?.reject(new KernelError('unavailable', `the world refused: ${String(error).slice(0, 2000)}`))
  })
  box.stdin.on('error', () => {})
  void box.exited.then((exit) => {
    const how = exit.outOfMemory ? 'out of memory' : `exit code ${exit.exitCode ?? exit.signal}`
    ended = `the world ended (${how}): ${words.trim() || 'it said nothing'}`
    for (const open of waiting.values()) open.reject(new KernelError('unavailable', ended))
    waiting.clear()
  })
  return (request) =>
    new Promise((resolve, reject) => {
      if (ended !== null) {
        reject(new KernelError('unavailable', ended))
        return
      }
      last += 1
      const id = last
      const timer = setTimeout(() => {
        waiting.delete(id)
        reject(
          new KernelError(
            'unavailable',
            `the world did not answer ${String(request.op)} within ${answerMs / 1000} s${words.trim() === '' ? '' : `; it said: ${words.trim().slice(-500)}`}`,
          ),
        )
      }, answerMs)
      waiting.set(id, {
        resolve: (value) => {
          clearTimeout(timer)
          resolve(value)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
      box.stdin.write(`${JSON.stringify({ id, ...request })}\n`)
    })
}

/** A box that writes a line beyond the cap is killed: what it says is kept in this process. */
function readLines(box: Box, onLine: (line: string) => void): void {
  let parts: Buffer[] = []
  let bytes = 0
  box.stdout.on('data', (chunk: Buffer) => {
    let rest = chunk
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      onLine(Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8'))
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
    }
    parts.push(rest)
    bytes += rest.length
    if (bytes <= lineBytes) return
    parts = []
    bytes = 0
    void box.kill()
  })
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
