import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Simulator } from '../kernel/kernel.ts'

const startTimeoutMs = 30_000

/** What the simulator plays; simulator.test.ts holds this list to the simulator's own. */
const models = [
  { name: 'sim-apprentice', description: 'Learns: works step by step, then proposes to work in rounds.' },
  { name: 'sim-novice', description: 'Works step by step and never proposes a change.' },
  { name: 'sim-reviewer', description: 'Gives a second opinion of a proposal, in figures.' },
  { name: 'sim-saboteur', description: 'Proposes changes that the checks, or you, should refuse.' },
  { name: 'sim-script', description: 'Does what the task text tells it to, call by call.' },
]

export interface SimulatorProcess extends Simulator {
  stop(): void
}

/**
 * The simulator as a process of this host, with nothing of its environment: started at first use, and again, on the same
 * port, when it ends by itself. It ends with its stdin, so it never outlives the host. `thinkMs`: before each answer.
 */
export function simulatorProcess(node: string, entry: string, thinkMs = 0): SimulatorProcess {
  let child: ChildProcess | null = null
  let serving: Promise<{ origin: string }> | null = null
  let port: string | null = null
  let isStopped = false
  return {
    models,
    start() {
      serving ??= startOnce()
      return serving
    },
    stop() {
      isStopped = true
      child?.stdin?.end()
      child?.kill()
    },
  }

  function startOnce(): Promise<{ origin: string }> {
    return new Promise((resolve, reject) => {
      // Windows cannot start a program without the first; nothing else is handed on.
      const env = process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {}
      const args = [entry, '--think', String(thinkMs), ...(port === null ? [] : ['--port', port])]
      const started = spawn(node, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
      let wasServing = false
      let hasEnded = false
      child = started
      const end = (why: string) => {
        if (hasEnded) return
        hasEnded = true
        clearTimeout(deadline)
        serving = null
        reject(new Error(`the simulator cannot be used: ${why}`))
        // Tasks hold its address: who calls it in between tries again, and finds it there.
        if (wasServing && !isStopped) {
          serving = startOnce()
          serving.catch(() => {})
        } else port = null
      }
      const deadline = setTimeout(() => started.kill('SIGKILL'), startTimeoutMs)
      started.once('error', (error) => end(error.message))
      started.once('exit', (code, signal) => end(`it ended (${signal ?? code})`))
      started.stdin.on('error', () => {})
      createInterface(started.stdout).once('line', (line) => {
        clearTimeout(deadline)
        wasServing = true
        const { origin, port: taken } = new URL(JSON.parse(line).url)
        port = taken
        resolve({ origin })
      })
    })
  }
}
