import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Simulator } from '../kernel/kernel.ts'

const startTimeoutMs = 20_000

/** What the simulator plays; simulator.test.ts holds this list to the simulator's own. */
const models = [
  { name: 'sim-apprentice', description: 'Learns: works step by step, then proposes to work in rounds.' },
  { name: 'sim-novice', description: 'Works step by step and never proposes a change.' },
  { name: 'sim-saboteur', description: 'Proposes changes that the checks, or you, should refuse.' },
  { name: 'sim-script', description: 'Does what the task text tells it to, call by call.' },
]

export interface SimulatorProcess extends Simulator {
  stop(): void
}

/** The simulator as a process of this host, started at first use and again after it ended. It ends with its stdin. */
export function simulatorProcess(node: string, entry: string): SimulatorProcess {
  let child: ChildProcess | null = null
  let starting: Promise<{ origin: string }> | null = null
  return {
    models,
    start() {
      starting ??= startOnce()
      return starting
    },
    stop() {
      child?.stdin?.end()
      child?.kill()
    },
  }

  function startOnce(): Promise<{ origin: string }> {
    return new Promise((resolve, reject) => {
      const started = spawn(node, [entry], { stdio: ['pipe', 'pipe', 'inherit'], env: {} })
      child = started
      const fail = (why: string) => {
        clearTimeout(deadline)
        starting = null
        reject(new Error(`the simulator cannot be used: ${why}`))
      }
      const deadline = setTimeout(() => {
        started.kill()
        fail(`it said nothing for ${startTimeoutMs / 1000} s`)
      }, startTimeoutMs)
      started.once('error', (error) => fail(error.message))
      started.once('exit', (code, signal) => fail(`it ended (${signal ?? code})`))
      createInterface(started.stdout).once('line', (line) => {
        clearTimeout(deadline)
        resolve({ origin: new URL(JSON.parse(line).url).origin })
      })
    })
  }
}
