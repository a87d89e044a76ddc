import { createInterface } from 'node:readline'
import { z } from 'zod'
import { KernelError } from '../errors.ts'
import type { Box, SandboxProvider } from '../sandbox/sandbox.ts'
import type { TaskFolders } from './folders.ts'
import type { Pack } from './pack.ts'

const probeSchema = z.looseObject({ value: z.number(), unit: z.string(), goal: z.number(), done: z.boolean() })

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
  await ask({ op: 'init', seed, objective: pack.world.objective })
  return {
    probe: async () => probeSchema.parse(await ask({ op: 'probe' })),
    frame: async () =>
      z
        .looseObject({ frame: z.string() })
        .parse(await ask({ op: 'frame' }))
        .frame.slice(0, 20_000),
    save: async () => z.looseObject({ state: z.string() }).parse(await ask({ op: 'save' })).state,
    load: async (state) => {
      await ask({ op: 'load', state })
    },
    close: () => box.kill(),
  }
}

function converse(box: Box): (request: Record<string, unknown>) => Promise<Record<string, unknown>> {
  const waiting = new Map<
    number,
    { resolve: (value: Record<string, unknown>) => void; reject: (error: Error) => void }
  >()
  let last = 0
  let words = ''
  let ended: string | null = null
  box.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-2000)
  })
  createInterface({ input: box.stdout }).on('line', (line) => {
    try {
      const answer = z.looseObject({ id: z.number() }).parse(JSON.parse(line))
      const open = waiting.get(answer.id)
      waiting.delete(answer.id)
      if (typeof answer.error === 'string')
        open?.reject(new KernelError('unavailable', `the world refused: ${answer.error}`))
      else open?.resolve(answer)
    } catch {
      words = `${words}\nnot an answer: ${line.slice(0, 200)}`.slice(-2000)
    }
  })
  box.stdin.on('error', () => {})
  void box.exited.then((exit) => {
    ended = `the world ended (exit code ${exit.exitCode ?? exit.signal}): ${words.trim() || 'it said nothing'}`
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
          new KernelError('unavailable', `the world did not answer ${String(request.op)} within ${answerMs / 1000} s`),
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
