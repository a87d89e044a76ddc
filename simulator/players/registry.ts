import type { RegisteredPlayer } from './player.ts'
import { playScript } from './script.ts'

/** Model name → player. Names start with `sim-`: the host starts the simulator for them. */
export const players: Record<string, RegisteredPlayer> = {
  'sim-script': { play: playScript, contextWindow: 400_000, maxOutputTokens: 128_000 },
}
