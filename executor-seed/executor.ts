import type { Readable } from 'node:stream'
import { Kernel } from './kernel.ts'
import { runTurn } from './loop.ts'
import { tools } from './toolbox.ts'
import { Turn } from './turn.ts'
import { Wire, WireError } from './wire.ts'

const NAME = 'exodesk seed'
const WIRE_VERSION = 1

/** Serves the kernel over a pair of streams: one turn at a time, of the task that `initialize` names. */
export function start(input: Readable, write: (line: string) => void): void {
  let kernel: Kernel | null = null
  let turn: Turn | null = null

  const wire = new Wire(input, write, {
    initialize(params) {
      if (params.wire.min > WIRE_VERSION || params.wire.max < WIRE_VERSION) {
        throw new WireError('invalid', `this policy speaks wire version ${WIRE_VERSION} only`)
      }
      if (params.task !== undefined) kernel = new Kernel(params.task, wire)
      const audit = tools.map(({ name, description }) => ({ name, description, file: `tools/${name}.ts` }))
      return { wire: WIRE_VERSION, name: NAME, tools: audit }
    },
    async 'turn.run'(params) {
      if (kernel === null) throw new WireError('conflict', 'initialize named no task')
      if (turn !== null) throw new WireError('conflict', 'a turn is running')
      turn = new Turn()
      try {
        return await runTurn(params, kernel, turn)
      } finally {
        turn = null
      }
    },
    'turn.cancel'({ reason }) {
      turn?.cancel(reason)
      return {}
    },
    drain() {
      if (turn !== null) turn.draining = true
      return {}
    },
    ping: ({ nonce }) => ({ nonce }),
  })
}
